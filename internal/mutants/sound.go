package mutants

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// soundRun holds the output of a test without a mutant.
type soundRun struct {
	passed bool
	took   time.Duration
	each   map[string]time.Duration // of the tests that a pattern has run
}

// Sound runs a test without a mutant, once. It reports whether it passes, and what that takes. One that is stopped by the
// limit may pass. Entering knows then which mutants it can notice.
func (b *Bench) Sound(ctx context.Context, test string, limit time.Duration) (passed bool, took time.Duration, err error) {
	r, known := b.sound[b.key(test)]
	if !known {
		begin := time.Now()
		entered := b.entered(test)
		if err := os.MkdirAll(entered, 0o777); err != nil {
			return false, 0, err
		}
		var out bytes.Buffer
		end, err := b.run(ctx, &out, test, []string{enteredEnvironment + "=" + entered}, limit)
		if err == nil && end == fails {
			end, err = b.failedNoting(ctx, test, limit)
		}
		if err != nil {
			return false, 0, err
		}
		r = soundRun{end != fails, time.Since(begin), map[string]time.Duration{}}
		for _, line := range ended.FindAllStringSubmatch(out.String(), -1) {
			r.each[line[1]], _ = time.ParseDuration(line[2])
		}
		b.sound[b.key(test)] = r
	}
	return r.passed, r.took, nil
}

// key tells a test that runs whole from one that leaves out what the gate alone runs.
func (b *Bench) key(test string) string {
	if b.Long {
		return "long " + test
	}
	return test
}

// failedNoting runs a test again that fails where it notes what it enters, as one does that counts allocations. It may enter every
// function then.
func (b *Bench) failedNoting(ctx context.Context, test string, limit time.Duration) (ending, error) {
	if err := os.RemoveAll(b.entered(test)); err != nil {
		return fails, err
	}
	return b.run(ctx, nil, test, nil, limit)
}

// entered is the folder with a file for each mutant and each test that enters its function.
func (b *Bench) entered(test string) string {
	return filepath.Join(b.folder, "entered", strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == '*' || r == '|' {
			return '_'
		}
		return r
	}, b.key(test)))
}

// ended matches what a test prints at its end.
var ended = regexp.MustCompile(`(?m)^--- PASS: (\w+) \((.*)\)$`)

// Entering returns which of the tests that Sound has run execute the function of a mutant, and what they take. The others cannot
// notice it. It is "" where there are none. A test that uses what another has made and kept does not count.
func (b *Bench) Entering(test string, i int) (some string, take time.Duration) {
	folder, sound := b.entered(test), b.sound[b.key(test)]
	noted, err := os.ReadDir(folder)
	if err != nil || b.list[i].Guest() {
		return test, sound.took
	}
	var names []string
	for _, f := range noted {
		switch name, ok := strings.CutPrefix(f.Name(), Name(i)+"."); {
		case ok && name == "":
			return test, sound.took
		case ok:
			names = append(names, name)
			take += sound.each[name]
		}
	}
	if len(names) == 0 {
		return "", 0
	}
	pkg, _ := split(test)
	return pkg + ".(" + strings.Join(names, "|") + ")", take
}
