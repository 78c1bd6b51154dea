package measuring_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"kprobesim/boards/pc"
	"kprobesim/cpus/cpustest"
	"kprobesim/cpus/x86"
	"kprobesim/distro"
	"kprobesim/distro/measuring"
	"kprobesim/image/linux"
)

// labs boots the kernels of KPROBESIM_LINUX to the program.
func labs(t *testing.T) (out []*measuring.Lab) {
	t.Helper()
	dir := os.Getenv("KPROBESIM_LINUX")
	files, _ := filepath.Glob(filepath.Join(dir, "vmlinuz*"))
	if dir == "" || len(files) == 0 || testing.Short() {
		t.Skip("left out: measuring the probes of a kernel of a distribution, since KPROBESIM_LINUX names no directory with one, or because of -short")
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		k, err := linux.Read(file, b)
		if err != nil {
			t.Fatal(err)
		}
		l, err := measuring.Boot(distro.Config{
			Kernel: k, CPU: cpustest.Config(x86.ISA64()), Board: pc.Legacy{Date: 1_700_000_000}, Command: distro.DefaultCommand,
		})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return out
}

// TestWorkloads runs each loop twice, without a probe, in two goroutines.
func TestWorkloads(t *testing.T) {
	for _, l := range labs(t) {
		for _, w := range measuring.Workloads() {
			other := make(chan *measuring.Region)
			o := measuring.Order{Workload: w, Warm: 10, Calls: 20}
			go func() {
				r, err := l.Run(o, nil)
				if err != nil {
					t.Error(err)
				}
				other <- r
			}()
			r, err := l.Run(o, nil)
			if again := <-other; err != nil || !reflect.DeepEqual(r, again) || r.Ticks == 0 || r.Instructions < 40 {
				t.Errorf("%s: %v: %+v and %+v", w, err, r, again)
			}
		}
	}
}
