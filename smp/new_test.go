package smp

import (
	"bytes"
	"strings"
	"testing"

	"kprobesim/image"
	"kprobesim/internal/require"
	"kprobesim/workloads"
)

func TestNewChecksItsOptions(t *testing.T) {
	for _, im := range workloads.List() {
		t.Run(im.Name, func(t *testing.T) { holdNewChecksItsOptions(t, im.Name) })
	}
}

func holdNewChecksItsOptions(t *testing.T, name string) {
	b := require.Must(workloads.Open(name))(t)
	im := require.Must(image.Load(name, b))(t)
	full := Preemptible(im)
	many := ""
	if strings.HasPrefix(name, "i386-2005") || strings.HasPrefix(name, "i386-2006") {
		many = "built for one CPU, not for 256"
	}
	tests := []struct {
		name string
		opt  Options
		want string // part of the error, "" for none
	}{
		{"one CPU", Options{HZ: 250, CPUHz: 1e9}, ""},
		{"own timer clock", Options{HZ: 250, CPUHz: 1e9, TimerHz: 1e8, CPUs: 1}, ""},
		{"no jiffies", Options{CPUHz: 1e9}, "HZ=0"},
		{"slow clock", Options{HZ: 1000, CPUHz: 100}, "HZ the smallest"},
		{"a jiffy is a cycle", Options{HZ: 1000, CPUHz: 1000, TimerHz: 1000}, ""},
		{"slow timer", Options{HZ: 1000, CPUHz: 1e9, TimerHz: 10}, "10 Hz (timer)"},
		{"many CPUs", Options{HZ: 250, CPUHz: 1e9, CPUs: 256}, many},
		{"too many CPUs", Options{HZ: 250, CPUHz: 1e9, CPUs: 257}, "1 to 256 are modelled"},
		{"another image's preemption", Options{HZ: 250, CPUHz: 1e9, Preempt: true}, "built with preemption"},
		{"time running backwards", Options{HZ: 250, CPUHz: 1e9, Slice: -1}, "slice of -1"},
	}
	for _, tt := range tests {
		tt.opt.Preempt = tt.opt.Preempt != full
		k, err := New(newWorld(t), im, tt.opt)
		require.That(t, tt.want != "" || err == nil && k.CPUs() == max(tt.opt.CPUs, 1), "%s: %v", tt.name, err)
		require.That(t, tt.want == "" || err != nil && strings.Contains(err.Error(), tt.want), "%s: error %v, want one with %q", tt.name, err, tt.want)
	}
}

// TestNewNamesWhatIsMissing takes one name away from a kernel.
func TestNewNamesWhatIsMissing(t *testing.T) {
	b := require.Must(workloads.Open("x86_64-2020"))(t)
	for _, name := range []string{"TIF_NEED_RESCHED", "PREEMPT_ACTIVE", "rcu_tasks_holdout", "preempt_count", "native_thread_loop"} {
		lacking := bytes.ReplaceAll(b, []byte(name+"\x00"), []byte(name[1:]+"_\x00"))
		im := require.Must(image.Load("lacking", lacking))(t)
		_, err := New(newWorld(t), im, Options{HZ: 250, CPUHz: 1e9})
		require.That(t, err != nil && strings.Contains(err.Error(), name), "%v, want one with %q", err, name)
	}
}

func TestUnknownNativeThread(t *testing.T) {
	w := newWorld(t)
	if v := w.k.Thread(w, 7); v != threadFinished || w.k.Err() == nil {
		t.Errorf("thread 7 of none returns %d, error %v", v, w.k.Err())
	}
}
