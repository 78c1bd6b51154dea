package measuring_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/distro/attaching"
	"kprobesim/distro/measuring"
	"kprobesim/image/linux"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/kept"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// sine is the program that sets marks, but with an instruction in their place that is not modelled.
func sine(t *testing.T, k *linux.Kernel) []byte {
	f := require.Must(distro.Mark(k))(t)
	return bytes.ReplaceAll(f.Data, []byte{0x0f, 0xa2}, []byte{0x0f, 0xaa}) // cpuid, rsm
}

// TestCommand runs a shell of busybox under a probe that counts its writes, and without. The region is between marks. An
// observer sees as many instructions as the counters have. Output and exit status come from the program.
func TestCommand(t *testing.T) {
	hosttools.Need(t, "busybox", "busybox-static", "programs under a packaged kernel")
	file := hosttools.Kernels(t, "vmlinuz*-amd64", "programs under a packaged kernel")[0]
	k, err := linux.Read(file, require.Must(os.ReadFile(file))(t), kept.Kernels())
	require.NoError(t, err)
	lab, err := measuring.BootWorking(config(k), distro.Initrd([]distro.File{
		{Name: "bin", Mode: distro.ModeFolder},
		{Name: "bin/busybox", Mode: distro.ModeProgram, Data: require.Must(os.ReadFile("/bin/busybox"))(t)},
		require.Must(distro.Mark(k))(t),
		require.Must(distro.Background(k))(t),
		{Name: "bin/sine", Mode: distro.ModeProgram, Data: sine(t, k)},
		{Name: ".input", Mode: distro.ModeFile, Data: []byte("hello\n")},
	}), nil)
	require.NoError(t, err)
	const loop = "cat; kprobesim mark begin; for i in 1 2 3 4 5 6 7; do echo $i; done >/dev/null; kprobesim mark end; echo end"
	order := func(script string, a *attaching.Attachment) measuring.Command {
		return measuring.Command{Args: []string{"/bin/busybox", "sh", "-c", script}, Env: []string{"PATH=/bin"}, Marks: true, Attach: a}
	}
	plain, err := lab.Command(order(loop, nil), nil)
	require.NoError(t, err)
	seen := &counter{}
	with, err := lab.Command(order(loop, &attaching.Attachment{Way: attaching.Kprobe, Program: attaching.Count, Target: "vfs_write"}),
		func(*sim.Machine) cpus.Observer { return seen })
	require.NoError(t, err)
	require.That(t, string(with.Output) == "hello\nend\n" && string(plain.Output) == string(with.Output) && with.Status.Err() == nil, "status %d, output %q, without the probe %q", with.Status, with.Output, plain.Output)
	if c := with.CPUs[0].Counters; !with.Counts || with.Counted != 7 || c.Instructions <= plain.CPUs[0].Counters.Instructions || with.Ticks <= plain.Ticks ||
		seen.n < c.Instructions || seen.n > c.Instructions+100 {
		t.Errorf("%d writes were counted in %d instructions, of which %d were seen; without the probe %d", with.Counted, c.Instructions, seen.n,
			plain.CPUs[0].Counters.Instructions)
	}
	worked, named := clock.Ticks(0), []string{}
	for _, p := range plain.Processes {
		worked, named = worked+p.Work, append(named, p.Name)
	}
	require.Equal(t, strings.Join(named, ", "), "busybox, kernel threads, kprobesim", "who has worked")
	require.That(t, worked == plain.CPUs[0].Work(), "%+v have worked in a region of %d ticks", plain.Processes, plain.CPUs[0].Work())
	require.That(t, !plain.Counts, "%d writes were counted without the probe", plain.Counted)
	drawn := func(from string) string {
		o := order("kprobesim mark begin; head -c 16 /dev/urandom; kprobesim mark end", nil)
		if from != "" {
			o.Random = []byte(from)
		}
		out, err := lab.Command(o, nil)
		require.That(t, err == nil && len(out.Output) == 16, "%v: %x", err, out.Output)
		return string(out.Output)
	}
	first, again := drawn("a"), drawn("a")
	require.That(t, first == again && first != drawn("b") && first != drawn(""), "the same bytes draw others, or others the same")
	idle := order("true", nil)
	idle.Tool, idle.Settle = []string{"/bin/busybox", "echo", "nothing to load"}, 5
	_, err = lab.Command(idle, nil)
	require.Error(t, err, "/bin/busybox has loaded no program of BPF within 5 ms; it has printed:\nnothing to load", "a tool that loads nothing")
	elsewhere := order("kprobesim mark begin; pwd; kprobesim mark end", nil)
	elsewhere.Folder = "/bin"
	where, err := lab.Command(elsewhere, nil)
	require.NoError(t, err)
	require.Equal(t, string(where.Output), "/bin\n", "the folder in which it starts")
	failed, err := lab.Command(order("kprobesim mark begin; kprobesim mark end; echo no; exit 3", nil), nil)
	require.NoError(t, err)
	require.That(t, string(failed.Output) == "no\n" && failed.Status.Err() != nil && strings.Contains(failed.Status.Err().Error(), "exit status 3"), "status %d, output %q", failed.Status, failed.Output)
	require.Error(t, require.Err(lab.Command(order("echo no", nil), nil)), "the command ended before it set mark 1", "no mark")
	refused, err := lab.Command(measuring.Command{Args: []string{"/bin/sine", "mark", "begin"}}, nil)
	require.NoError(t, err)
	require.Error(t, refused.Err(), "killed by signal 4, which has executed RSM at 0x", "an instruction that is not modelled")
	none, err := lab.Command(measuring.Command{Args: []string{"/bin/none"}}, nil)
	require.NoError(t, err)
	if got := string(none.Output); got != "/bin/none: the kernel does not execute it: error 2\n" || none.Status != 127<<8 {
		t.Errorf("status %d, output %q", none.Status, got)
	}
	require.Error(t, require.Err(lab.Within(clock.FromCycles(50_000_000)).Command(order("while :; do :; done", nil), nil)), "budget", "a loop")
}
