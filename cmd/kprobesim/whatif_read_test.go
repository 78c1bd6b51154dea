package main

import (
	"fmt"
	"testing"

	"kprobesim/distro/attaching"
	"kprobesim/distro/probing"
	"kprobesim/experiments/whatif"
	"kprobesim/internal/require"
)

// TestWhatIfOptions reads what is asked, and says what is wrong with it.
func TestWhatIfOptions(t *testing.T) {
	for _, x := range []struct {
		o           whatIfOptions
		probe, rate string
		want        string // "" for what is right
	}{
		{whatIfOptions{format: "text", program: attaching.Count, cpus: 1}, "kprobe:f", "", ""},
		{whatIfOptions{format: "json", program: attaching.Empty, cpus: 9, limit: 2}, "fentry:f", "5k", ""},
		{whatIfOptions{format: "text", program: attaching.Ringbuf, cpus: 1}, "kretprobe:f", "1000000M", ""},
		{whatIfOptions{format: "text", program: attaching.Count, cpus: 1}, "nothing:f", "", "nothing"},
		{whatIfOptions{format: "text", program: attaching.Count, cpus: 1}, "f", "", "KIND:TARGET"},
		{whatIfOptions{format: "csv", program: attaching.Count, cpus: 1}, "kprobe:f", "", `--format "csv": it is text or json`},
		{whatIfOptions{format: "text", program: "fast", cpus: 1}, "kprobe:f", "", `--program "fast": it is empty, count or ringbuf`},
		{whatIfOptions{format: "text", program: attaching.Count}, "kprobe:f", "", "--cpus and --limit must be positive"},
		{whatIfOptions{format: "text", program: attaching.Count, cpus: 1, limit: -1}, "kprobe:f", "5", "--cpus and --limit must be positive"},
		{whatIfOptions{format: "text", program: attaching.Count, cpus: 1, limit: 1}, "kprobe:f", "", "needs a --rate"},
		{whatIfOptions{format: "text", program: attaching.Count, cpus: 1}, "kprobe:f", "1000001M", `--rate "1000001M": write events a second`},
		{whatIfOptions{format: "text", program: attaching.Count, cpus: 1}, "kprobe:f", "0", "--rate"},
		{whatIfOptions{format: "text", program: attaching.Count, cpus: 1}, "kprobe:f", "k", "--rate"},
	} {
		err := x.o.read(x.probe, x.rate)
		if x.want == "" {
			require.That(t, err == nil && (x.o.rate > 0) == (x.rate != "") && x.o.probe.Target == "f", "%+v: %v", x.o, err)
		} else {
			require.Error(t, err, x.want, "%s, %s, %+v", x.probe, x.rate, x.o)
		}
	}
}

// TestWhatIfVerdict asks the rules of a made-up kernel for places of each sort.
func TestWhatIfVerdict(t *testing.T) {
	k := require.Must(probing.Read(madeUpKernel(t), nil))(t)
	for probe, want := range map[string]string{
		"kprobe:plain": "at _stext+0x0: the kernel replaces the breakpoint by a jump (rule ", "kprobe:plain+0x9": "at _stext+0x9: it stays a breakpoint: ",
		"kretprobe:plain":   "at _stext+0x0: the kernel replaces the breakpoint by a jump (rule ",
		"kretprobe:plain+4": "a kretprobe stands at the start of a function: leave the offset out", "kprobe:plain+2": "no probe may stand at _stext+0x2: ",
		"kprobe:black": "no probe may stand at black+0x0: ", "kprobe:nothing": "no symbol nothing",
	} {
		o, q := whatIfOptions{probe: require.Must(whatif.Parse(probe))(t)}, &whatif.Question{}
		v, err := o.verdict(k, q)
		got := fmt.Sprintf("at %s: %s (rule %s)", q.Place, q.Why, err)
		if err == nil {
			require.That(t, v.Place == q.Place && v.Probe, "%s: %+v", probe, v)
			require.Equal(t, got[:len(want)], want, "%s", probe)
		} else {
			require.Error(t, err, want, "%s", probe)
			require.Equal(t, q.Place, "", "%s: the place of no probe", probe)
		}
	}
}
