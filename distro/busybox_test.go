package distro_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"kprobesim/distro"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// busyboxCommands compute with floating point. Debian's awk in busybox has no functions of mathematics.
const busyboxCommands = `b=/bin/busybox
$b seq 1 3
$b seq 0.5 0.125 1.25
$b awk 'BEGIN { for (i = 1; i < 200; i++) s += 1 / (i * i); printf "%.15g %e %g %d\n", s, s * 1e300, 1e-310 / 3, -3.7 }'
$b printf "%.3f %g %e\n" 2.71828 1e100 123456.789
echo 'scale=30; 4*a(1); e(1); l(10); s(1); sqrt(2)' | $b bc -l
echo end
`

// TestBusybox boots a packaged kernel with Debian's busybox, and compares what its programs compute with their output on the
// host.
func TestBusybox(t *testing.T) {
	const path = "/bin/busybox"
	hosttools.Need(t, "busybox", "busybox-static", "programs with floating point under a packaged kernel")
	want := require.Must(exec.Command(path, "sh", "-c", busyboxCommands).Output())(t)
	for _, file := range kernels(t) {
		c := packaged(t, file)
		if c.Kernel.Image.Bits != 64 {
			continue
		}
		c.Untimed = true
		c.Initrd = distro.Initrd([]distro.File{
			{Name: "bin", Mode: distro.ModeFolder},
			{Name: "bin/busybox", Mode: distro.ModeProgram, Data: require.Must(os.ReadFile(path))(t)},
			{Name: "init", Mode: distro.ModeProgram, Data: []byte("#!/bin/busybox sh\necho begin\n" + busyboxCommands + "/bin/busybox poweroff -f\n")},
		})
		m, err := distro.Run(c, distro.Stop{})
		require.Need(t, err == nil, "%v; the console:\n%s", err, m.Console())
		_, got, _ := strings.Cut(strings.ReplaceAll(m.Console(), "\r\n", "\n"), "begin\n")
		require.That(t, strings.HasPrefix(got, string(want)) && strings.HasSuffix(string(want), "end\n"), "%s: the host prints\n%s, the simulator\n%s", file, want, got)
	}
}
