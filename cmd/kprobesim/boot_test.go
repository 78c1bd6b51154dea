package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/experiments/planning"
	"kprobesim/internal/require"
)

// prints is code of 64 bits that prints a letter and a carriage return at the serial port, and resets the machine.
var prints = []byte{
	0x66, 0xba, 0xf8, 0x03, // mov dx, 0x3f8
	0xb0, 'k', // mov al, 'k'
	0xee,       // out dx, al
	0xb0, '\r', // mov al, '\r'
	0xee,       // out dx, al
	0xb0, 0xfe, // mov al, 0xfe
	0xe6, 0x64, // out 0x64, al
}

// A file of the initial file system has what it has on the host; a program stays one.
func TestReadFile(t *testing.T) {
	for mode, want := range map[os.FileMode]uint32{0o600: distro.ModeFile, 0o700: distro.ModeProgram, 0o601: distro.ModeProgram} {
		file := filepath.Join(t.TempDir(), "f")
		require.NoError(t, os.WriteFile(file, []byte("text"), mode))
		f := require.Must(readFile("bin/f", file))(t)
		require.That(t, f.Name == "bin/f" && f.Mode == want && string(f.Data) == "text", "a file of mode %o is %+v", mode, f)
	}
	_, err := readFile("f", "none")
	require.Error(t, err, "no such file", "a file that is not there")
}

// TestBootProgress shows the line of a console that ends behind each beat.
func TestBootProgress(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	p := &bootProgress{w: &out, beat: time.Second, now: func() time.Time { return now }, spoke: now}
	for _, s := range []string{"at o", "nce\r\n", "wait", "later\r", "\nsoon\n", "\x1b[2Jlast\n"} {
		if s == "wait" || strings.HasSuffix(s, "last\n") {
			now = now.Add(time.Second)
		}
		p.print(nil, s)
	}
	if got := out.String(); !strings.HasPrefix(got, "waitlater\n") || strings.Count(got, "\n") != 2 || !strings.Contains(got, "last") || strings.Contains(got, "\x1b") {
		t.Errorf("progress %q", got)
	}
}

// TestLackingKernel says which kernel is lacking, whatever is to be done with an experiment of one.
func TestLackingKernel(t *testing.T) {
	t.Setenv(planning.KernelFolder, t.TempDir())
	for _, args := range [][]string{
		{"run", "linux-probes"},
		{"run", experiment, "linux-probes"},
		{"trace", "linux-probes", "--point", "k"},
		{"validate", "linux-probes"},
		{"validate", experiment, "linux-probes"},
		{"plan", "linux-probes"},
		{"timeline", "linux-probes", "--point", "k"},
	} {
		code, stdout, stderr := command(nil, args...)
		require.That(t, code == exitUsage && strings.Contains(stderr, "linux-probes: ") && strings.Contains(stderr, "no kernel"), "%q: exit code %d: %s%s", args, code, stdout, stderr)
	}
}

// countsOnly is a CPU that has counters and nothing else, and refusing one that also keeps what it refused.
type countsOnly struct {
	cpus.CPU
	counters cpus.Counters
}

func (c *countsOnly) Counters() *cpus.Counters { return &c.counters }

type refusing struct {
	countsOnly
	list []cpus.Refusal
}

func (r *refusing) Refusals() []cpus.Refusal { return r.list }

// TestRefusals lists what CPUs refused, each once, with the CPU where it is not the first.
func TestRefusals(t *testing.T) {
	var out strings.Builder
	refusals(&out, []cpus.CPU{
		&refusing{list: []cpus.Refusal{{Name: "a", PC: 1, Count: 2}, {Name: "b", PC: 3, Count: 4}}},
		&countsOnly{counters: cpus.Counters{Unmodelled: 1, LastUnknown: "x"}},
		&refusing{list: []cpus.Refusal{{Name: "b", PC: 5, Count: 6}, {Name: "c", PC: 7, Count: 8}}},
	}, func(pc uint64) string { return fmt.Sprintf("sym+%d", pc) })
	require.Equal(t, out.String(), `refused: a, 2 times, first at sym+1
refused: b, 4 times, first at sym+3
cpu 1: 1 instructions are not modelled and were refused, the last x
cpu 2: refused: c, 8 times, first at sym+7
`, "what is told")
}
