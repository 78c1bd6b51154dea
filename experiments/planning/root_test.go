package planning_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kprobesim/distro"
	"kprobesim/distro/rootfs"
	"kprobesim/distro/rootfs/imagetest"
	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/image"
	"kprobesim/image/linux"
	"kprobesim/internal/require"
)

// TestRoot makes one root out of a folder and an archive, names what it has not, and plans an experiment whose root is not there
// as one that this host lacks something for.
func TestRoot(t *testing.T) {
	dir := kernels(t, map[string]int{"vmlinuz-6.1.0-9": 64})
	t.Setenv(planning.KernelFolder, dir)
	p := require.Must(planning.NewLoader().Plan("linux-workload", nil))(t)
	require.Error(t, p.Lacking, "busybox is not there: make it a folder", "without busybox")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "busybox", "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "busybox", "bin", "busybox"), []byte("busybox"), 0o755))
	other := require.Must(distro.First(&linux.Kernel{Image: &image.Image{Machine: elf.EM_ARM}}))(t).Data
	require.NoError(t, os.WriteFile(filepath.Join(dir, "busybox", "bin", "arm"), other, 0o755))
	exptest.Write(t, dir, "more.cpio", string(distro.Initrd([]distro.File{{Name: "more", Mode: distro.ModeFile, Data: []byte("more")}})))
	plan := func(sets ...string) *schema.Plan {
		t.Helper()
		p, err := planning.NewLoader().Plan("linux-workload", sets)
		require.Need(t, err == nil && p.Lacking == nil && len(p.Points) == 5, "%v, %v, %d points", err, p.Lacking, len(p.Points))
		return p
	}
	one := plan()
	again := plan()
	require.That(t, again.Points[0].Key("") == one.Points[0].Key(""), "the same experiment has two keys")
	input := exptest.Write(t, dir, "input", "input")
	for _, set := range []string{"workload.root=[\"busybox\", \"" + dir + "/more.cpio\"]", "workload.input=" + input, "workload.warmup=1", "workload.region=command", "workload.env=[]"} {
		other := plan(set)
		require.That(t, other.Points[0].Key("") != one.Points[0].Key(""), "%s is no part of what a measurement follows from", set)
	}
	special := filepath.Join(dir, "special")
	require.NoError(t, os.MkdirAll(special, 0o755))
	require.NoError(t, os.Symlink("bin/busybox", filepath.Join(special, "link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(special, "pipe"), 0o644))
	files := rootfs.Tree{}
	archive := plan("workload.root=[\"busybox\", \"special\"]").Points[0].Linux.Working.Archive
	require.That(t, bytes.Contains(archive, fmt.Appendf(nil, "%08x", rootfs.Link|0o777)), "the archive has no link that all may follow")
	_ = require.Must(files.Archive(archive))(t)
	link, _ := files.Find("/link")
	_, piped := files.Find("/pipe")
	require.That(t, string(link.Data) == "busybox" && !piped, "behind the link is %q, and a pipe is there: %v", link.Data, piped)
	exptest.Write(t, special, "init", "program")
	for set, want := range map[string]string{
		"workload.root=[\"busybox\", \"special\"]":                      "root: has a file /init, where the first program of the machine goes",
		"workload.command=[\"/bin/none\"]":                              "workload.command: the root has no file /bin/none",
		"workload.command=[\"busybox\"]":                                "write the path of the program in the root first",
		"workload.root=[\"./none\"]":                                    "no such file",
		"workload.root=[\"vmlinuz-6.1.0-9\"]":                           "is neither a folder nor an archive",
		"workload.only=[\"/lib/none\"]":                                 "workload.only: the root has no file /lib/none",
		"workload.input=" + dir + "/none":                               "workload.input",
		"workload.command=[\"/bin/arm\"]":                               "bin/arm is a program of EM_ARM, and the kernel is of EM_X86_64",
		"points.fentry.kind=seccomp":                                    "unknown value",
		"points.fentry.kind=uprobe":                                     "write a file of the root and a function of it",
		"points.fentry.event=cpu-clock":                                 "unknown key",
		"points=[{name=\"a\", kind=\"tool\", command=[\"/bin/none\"]}]": "workload.command of a tool: the root has no file /bin/none",
		"points=[{name=\"a\", kind=\"tool\", command=[\"none\"]}]":      "write the path of the program in the root first",
		"points=[{name=\"a\", kind=\"tool\"}]":                          "command",
	} {
		require.Error(t, require.Err(planning.NewLoader().Plan("linux-workload", []string{set})), want, "%s", set)
	}
}

// TestRootOfImage makes the same measurement of an image as of a folder with its files, and has its program run as the image says
// where the experiment does not.
func TestRootOfImage(t *testing.T) {
	dir := kernels(t, map[string]int{"vmlinuz-6.1.0-9": 64})
	t.Setenv(planning.KernelFolder, dir)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "busybox", "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "busybox", "bin", "busybox"), []byte("busybox"), 0o755))
	layer := imagetest.Tar(t, imagetest.File{Name: "bin/"}, imagetest.File{Name: "bin/busybox", Data: "busybox"})
	plan := func(experiment string, sets ...string) (*schema.Point, error) {
		t.Helper()
		p, err := planning.NewLoader().Plan(experiment, sets)
		if err != nil {
			return nil, err
		}
		return &p.Points[0], nil
	}
	folder := require.Must(plan("linux-workload"))(t)
	image := imagetest.Image{Platform: "linux/amd64", Entrypoint: []string{"busybox", "sh"}, Cmd: []string{"-c", "exit"}, Env: []string{"A=b", "PATH=/sbin:/bin"}}
	exptest.Write(t, dir, "image.tar", string(imagetest.Docker(t, image, layer)))
	same := require.Must(plan("linux-workload", "workload.root=[\"image.tar\"]", "workload.env=[\"PATH=/usr/sbin:/usr/bin:/sbin:/bin\", \"HOME=/\"]"))(t)
	require.Equal(t, same.Key(""), folder.Key(""), "the key with an image in place of a folder")
	image.Folder = "/bin"
	file := exptest.Write(t, dir, "mine.toml", `name = "mine"
title = "mine"
kind = "linux-workload"
machine = "xeon-e5410"

[workload]
root = ["image.tar"]

[[points]]
name = "none"
kind = "none"
`)
	for _, x := range []struct {
		entry, command, env string
		sets                []string
	}{
		{"busybox", "/bin/busybox sh -c exit", "HOME=/ A=b PATH=/sbin:/bin", nil},
		{"./busybox", "/bin/busybox sh -c exit", "A=c", []string{"workload.env=[\"A=c\"]"}},
		{"/bin/busybox", "/bin/busybox", "", []string{"workload.env=[]", "workload.command=[\"/bin/busybox\"]"}},
	} {
		image.Entrypoint[0] = x.entry
		exptest.Write(t, dir, "image.tar", string(imagetest.Docker(t, image, layer)))
		w := require.Must(plan(file, x.sets...))(t).Linux.Working
		require.That(t, strings.Join(w.Command, " ") == x.command && strings.Join(w.Env, " ") == x.env, "%s: %q, %q", x.entry, w.Command, w.Env)
		require.Equal(t, w.Folder, "/bin", "%s: the folder in which it starts", x.entry)
	}
	image.Entrypoint[0], image.Folder = "busybox", "/srv/data"
	exptest.Write(t, dir, "image.tar", string(imagetest.Docker(t, image, layer)))
	w := require.Must(plan(file))(t).Linux.Working
	image.Folder = "/bin/busybox"
	exptest.Write(t, dir, "image.tar", string(imagetest.Docker(t, image, layer)))
	require.Error(t, require.Err(plan(file)), "the image starts its program in /bin/busybox, which is no folder", "a file as the folder")
	require.That(t, w.Folder == "/srv/data" && bytes.Contains(w.Archive, []byte("srv/data\x00")), "it starts in %q, which is not made", w.Folder)
	for entry, want := range map[string]string{
		"none": "workload.command: none of the image is in no folder of its PATH", "/none": "workload.command: the root has no file /none",
		"": "workload.command: is missing, and no image of the root names one",
	} {
		image.Entrypoint, image.Cmd = []string{entry}, nil
		if entry == "" {
			image.Entrypoint = nil
		}
		exptest.Write(t, dir, "image.tar", string(imagetest.Docker(t, image, layer)))
		require.Error(t, require.Err(plan(file)), want, "%s", entry)
	}
	image.Platform = "linux/arm64"
	exptest.Write(t, dir, "image.tar", string(imagetest.Docker(t, image, layer)))
	require.Error(t, require.Err(plan(file)), "workload.root: image.tar: has no image for linux/amd64", "another platform")
}

// TestUserObject reads an object file beside the experiment that names it, or one of this program. Another one makes another
// measurement.
func TestUserObject(t *testing.T) {
	dir := kernels(t, map[string]int{"vmlinuz-6.1.0-9": 64})
	t.Setenv(planning.KernelFolder, dir)
	exptest.Write(t, dir, "program.cpio", string(distro.Initrd([]distro.File{{Name: "program", Mode: distro.ModeProgram, Data: []byte("program")}})))
	file := exptest.Write(t, dir, "mine.toml", `base = "linux-workload-object"
name = "mine"
title = "mine"

[workload]
root = ["./program.cpio"]
command = ["/program"]

[[points]]
name = "mine"
kind = "object"
file = "./mine.bpf.o"
programs = ["sizes"]
`)
	object := require.Must(distro.Object("writes"))(t)
	exptest.Write(t, dir, "mine.bpf.o", string(object))
	plan := func(set string) (*schema.Point, error) {
		t.Helper()
		p, err := planning.NewLoader().Plan(file, []string{set})
		if err != nil {
			return nil, err
		}
		return p.Point("mine")
	}
	one := require.Must(plan("points.mine.file=" + dir + "/mine.bpf.o"))(t)
	o := one.Probe.Linux.Object
	require.That(t, string(o.File) == string(object) && len(o.Programs) == 1, "%d bytes of %s, %q", len(o.File), o.Path, o.Programs)
	t.Chdir(dir) // where the path of the object is its name alone
	p := require.Must(planning.NewLoader().Plan("./mine.toml", nil))(t)
	here := require.Must(p.Point("mine"))(t)
	require.Equal(t, string(here.Probe.Linux.Object.File), string(object), "the object beside the experiment")
	for _, set := range []string{"programs=[\"begins\"]", "programs=[\"sizes=vfs_read\"]", "target=vfs_read", "maps=[\"bytes.max_entries=2\"]", "variables=[\"largest=5\"]"} {
		other := require.Must(plan("points.mine." + set))(t)
		require.That(t, other.Key("") != one.Key(""), "%s is no other measurement", set)
	}
	for set, want := range map[string]string{
		"file=none":              "mine: file: no object of this program is called none: write a path with a slash",
		"file=./none":            "mine: file: ./none",
		"file=" + file:           "no object file of BPF",
		"programs=[\"nothing\"]": "no program nothing: it has any, begins, ",
		"event=page-faults":      "event page-faults: no program that is taken has the section perf_event",
		"event=cache-misses":     "unknown value",
		"period=1":               "a clock has a frequency",
		"frequency=251":          "frequency",
		"offset=1":               "unknown key",
	} {
		require.Error(t, require.Err(plan("points.mine."+set)), want, "%s", set)
	}
}
