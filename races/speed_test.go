package races

import (
	"testing"

	"kprobesim/internal/require"
)

// BenchmarkSchedules runs schedules of the main scenario, on one machine at a time.
func BenchmarkSchedules(b *testing.B) {
	s := require.Must(Load("optimize"))(b)
	for i := range s.Variants {
		v := &s.Variants[i]
		b.Run(v.Name, func(b *testing.B) {
			opt := Default()
			opt.Workers, opt.Schedules = 1, uint64(b.N)
			t, err := Search(s, v, opt)
			if err != nil || t.Violations > 0 {
				b.Fatal(t.Found, err)
			}
			b.ReportMetric(float64(t.Schedules)/b.Elapsed().Seconds(), "schedules/s")
			b.ReportMetric(float64(t.Steps)/float64(t.Schedules), "steps/schedule")
		})
	}
}
