package distro_test

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// BenchmarkBoot boots the first kernel of KPROBESIM_LINUX to /init, under both cost models and without one, and reports
// millions of instructions a second.
func BenchmarkBoot(b *testing.B) {
	for _, way := range []string{cpus.Window, cpus.Throughput, "untimed"} {
		b.Run(way, func(b *testing.B) { benchmarkBoot(b, way) })
	}
}

func benchmarkBoot(b *testing.B, way string) {
	c := packaged(b, hosttools.Kernels(b, "vmlinuz*amd64", "booting the kernel of a distribution")[0])
	if c.Untimed = way == "untimed"; !c.Untimed {
		c.CPU.Model = way
	}
	b.ResetTimer()
	var n uint64
	for b.Loop() {
		m := require.Must(distro.Run(c, distro.Stop{}))(b)
		n += m.CPU(0).Counters().Instructions
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "MIPS")
}
