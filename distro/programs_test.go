package distro_test

import (
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// library finds the files that the loader of the host gives a program.
var library = regexp.MustCompile(`/\S+`)

// hostPrograms are the programs whose scripts are compared: what they are called, the file that they are, and the package of Debian that
// has it; with another package that they read. Two are of ours.
var hostPrograms = []struct{ name, file, debian, reads string }{
	{"sqlite3", "sqlite3", "sqlite3", ""},
	{"python3", "/usr/bin/python3.11", "python3.11-minimal", "libpython3.11-minimal"},
	{"redis-server", "redis-check-rdb", "redis-tools", "redis-tools"}, // a server by its name
	{"program", "", "", ""},
	{"rust", "rustc", "", ""},
	{"busybox", "busybox", "busybox-static", ""},
}

// kernelLine is a line of the console that the kernel has printed, at any time.
var kernelLine = regexp.MustCompile(`(?m)^\[ *\d+\.\d+\] .*\n`)

// TestPrograms boots packaged kernels of 64 bits with programs of the host, and compares what scripts print with their output
// on the host. The loader of glibc wants a processor with MMX.
func TestPrograms(t *testing.T) {
	const what = "programs of the host under a packaged kernel"
	root, bin := tree{}, t.TempDir()
	root.add(t, hosttools.Need(t, "busybox", "busybox-static", what), "/bin/busybox", "/bin/sh")
	init, want := beforeScripts, map[string]string{}
	for _, x := range hostPrograms {
		file := filepath.Join(bin, x.name)
		switch {
		case x.debian != "":
			require.NoError(t, os.Symlink(hosttools.Need(t, x.file, x.debian, what), file))
		case x.file == "":
			hosttools.Run(t, "testdata/program", "go", "build", "-o", file, "main.go")
		case hosttools.Look(x.file) == "":
			hosttools.Without(t, "a program of Rust under a packaged kernel", ""+x.file+" is not installed (Debian: rustc)")
			continue
		default:
			hosttools.Run(t, "testdata/program", x.file, "-O", "-C", "target-feature=+crt-static", "-C", "strip=symbols", "-o", file, "main.rs")
		}
		if x.name != "busybox" {
			root.add(t, file, "/bin/"+x.name)
		}
		if x.reads != "" {
			root.pkg(t, x.reads)
		}
		script := require.Must(os.ReadFile("testdata/scripts/" + x.name))(t)
		root["/scripts/"+x.name] = script
		init += "echo begin " + x.name + "; sh /scripts/" + x.name + "\n"
		host := exec.Command("sh", "-c", string(script))
		host.Dir, host.Env = t.TempDir(), append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		want[x.name] = string(require.Must(host.Output())(t))
	}
	root["/init"] = []byte(init + "echo begin nothing\npoweroff -f\n")
	for _, file := range kernels(t) {
		c := packaged(t, file)
		if c.Kernel.Image.Bits != 64 {
			continue
		}
		c.Untimed, c.Initrd = true, distro.Initrd(root.files())
		c.CPU.Answers = cpus.Answers{"cpuid": {1: {0x10676, 1<<16 | 8<<8, 0x802201, 0x789ab7d}}}
		m, err := distro.Run(c, distro.Stop{})
		require.Need(t, err == nil, "%v; the console:\n%s", err, m.Console())
		console := kernelLine.ReplaceAllString(strings.ReplaceAll(m.Console(), "\r\n", "\n"), "")
		for _, x := range hostPrograms {
			if want[x.name] == "" {
				continue // without it
			}
			_, got, _ := strings.Cut(console, "begin "+x.name+"\n")
			got, _, _ = strings.Cut(got, "begin ")
			require.That(t, got == want[x.name] && strings.HasSuffix(got, "end\n"), "%s: the host prints\n%s, %s\n%s", x.name, want[x.name], file, got)
		}
	}
}

// beforeScripts begins /init.
const beforeScripts = `#!/bin/sh
/bin/busybox mkdir -p /proc /dev /tmp /usr/bin
/bin/busybox --install /bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
export PATH=/bin:/usr/bin
program seed
`

// tree is a root file system: the contents of files by their paths.
type tree map[string][]byte

// add puts a file of the host at places of the tree, with the libraries that a program needs.
func (r tree) add(t *testing.T, file string, places ...string) {
	t.Helper()
	for _, p := range places {
		r[p] = require.Must(os.ReadFile(file))(t)
	}
	needs, _ := exec.Command("ldd", file).Output() // nothing for what is no program, or static
	for _, name := range library.FindAllString(string(needs), -1) {
		if !strings.HasSuffix(name, ":") { // as ldd begins a list
			r[name] = require.Must(os.ReadFile(name))(t)
		}
	}
}

// pkg adds the files of a Debian package.
func (r tree) pkg(t *testing.T, name string) {
	t.Helper()
	for _, file := range strings.Fields(string(require.Must(exec.Command("dpkg", "-L", name).Output())(t))) {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && !strings.HasPrefix(file, "/usr/share/doc") {
			r[file] = require.Must(os.ReadFile(file))(t)
		}
	}
}

// files lists the tree with its folders, each before what is in it.
func (r tree) files() (files []distro.File) {
	folders := map[string]bool{"/": true}
	for _, p := range slices.Sorted(maps.Keys(r)) {
		var above []string
		for dir := path.Dir(p); !folders[dir]; dir = path.Dir(dir) {
			folders[dir] = true
			above = append(above, dir)
		}
		for _, dir := range slices.Backward(above) {
			files = append(files, distro.File{Name: dir[1:], Mode: distro.ModeFolder})
		}
		files = append(files, distro.File{Name: p[1:], Mode: distro.ModeProgram, Data: r[p]})
	}
	return files
}
