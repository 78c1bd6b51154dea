package mutants

import "time"

// Sound runs a test without a mutant. It reports whether it passes, and what that takes.
func (b *Bench) Sound(test string, limit time.Duration) (passed bool, took time.Duration, err error) {
	begun := time.Now()
	passed, err = b.run(test, nil, limit)
	b.sound[test] = passed
	return passed, time.Since(begun), err
}
