package distro_test

import (
	"os"
	"path/filepath"
	"testing"

	"kprobesim/cpus"
	"kprobesim/distro"
)

// BenchmarkBoot boots the first kernel of KPROBESIM_LINUX to /init, under both cost models and without one, and reports
// millions of instructions a second.
func BenchmarkBoot(b *testing.B) {
	for _, way := range []string{cpus.Window, cpus.Throughput, "untimed"} {
		b.Run(way, func(b *testing.B) { benchmarkBoot(b, way) })
	}
}

func benchmarkBoot(b *testing.B, way string) {
	dir := os.Getenv("KPROBESIM_LINUX")
	files, _ := filepath.Glob(filepath.Join(dir, "vmlinuz*amd64"))
	if dir == "" || len(files) == 0 {
		b.Skip("left out: KPROBESIM_LINUX names no directory with a kernel of x86-64")
	}
	c := packaged(b, files[0])
	if c.Untimed = way == "untimed"; !c.Untimed {
		c.CPU.Model = way
	}
	b.ResetTimer()
	var n uint64
	for b.Loop() {
		m, err := distro.Run(c, distro.Stop{})
		if err != nil {
			b.Fatal(err)
		}
		n += m.CPU(0).Counters().Instructions
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "MIPS")
}
