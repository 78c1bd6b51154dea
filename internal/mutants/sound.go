package mutants

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// soundRun holds the output of a test without a mutant.
type soundRun struct {
	passed bool
	took   time.Duration
}

// Sound runs a test without a mutant, once. It reports whether it passes, and what that takes. One that is stopped by the
// limit may pass. Enters knows then which mutants it can notice.
func (b *Bench) Sound(ctx context.Context, test string, limit time.Duration) (passed bool, took time.Duration, err error) {
	r, known := b.sound[test]
	if !known {
		begin := time.Now()
		entered := b.entered(test)
		if err := os.MkdirAll(entered, 0o777); err != nil {
			return false, 0, err
		}
		end, err := b.run(ctx, nil, test, []string{enteredEnvironment + "=" + entered}, limit)
		if err == nil && end == fails {
			end, err = b.failedNoting(ctx, test, limit)
		}
		if err != nil {
			return false, 0, err
		}
		r = soundRun{end != fails, time.Since(begin)}
		b.sound[test] = r
	}
	return r.passed, r.took, nil
}

// failedNoting runs a test again that fails where it notes what it enters, as one does that counts allocations. It may enter every
// function then.
func (b *Bench) failedNoting(ctx context.Context, test string, limit time.Duration) (ending, error) {
	if err := os.RemoveAll(b.entered(test)); err != nil {
		return fails, err
	}
	return b.run(ctx, nil, test, nil, limit)
}

// entered is the folder with a file for each mutant whose function a test enters.
func (b *Bench) entered(test string) string {
	return filepath.Join(b.folder, "entered", strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == '*' || r == '|' {
			return '_'
		}
		return r
	}, test))
}

// Enters reports whether a test that Sound has run executes the function of a mutant of Go code. Else it cannot notice it.
func (b *Bench) Enters(test string, i int) bool {
	folder := b.entered(test)
	_, unknown := os.Stat(folder)
	_, err := os.Stat(filepath.Join(folder, Name(i)))
	return unknown != nil || err == nil || b.list[i].Guest()
}
