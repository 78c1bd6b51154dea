package mutants

import (
	"context"
	"time"
)

// soundRun holds the output of a test without a mutant.
type soundRun struct {
	passed bool
	took   time.Duration
}

// Sound runs a test without a mutant, once. It reports whether it passes, and what that takes. One that is stopped by the
// limit may pass.
func (b *Bench) Sound(ctx context.Context, test string, limit time.Duration) (passed bool, took time.Duration, err error) {
	r, known := b.sound[test]
	if !known {
		begin := time.Now()
		end, err := b.run(ctx, nil, test, nil, limit)
		if err != nil {
			return false, 0, err
		}
		r = soundRun{end != fails, time.Since(begin)}
		b.sound[test] = r
	}
	return r.passed, r.took, nil
}
