package schema

import (
	"kprobesim/internal/doc"
	"kprobesim/kprobes"
)

// Write is a write into a file of the kernel during the measured calls.
type Write struct {
	File, Value string
	After       int64 // measured calls before it
}

// ReadWrites reads the tables [[writes]] of an experiment. They are made in the order of the file, so calls must not
// go back.
func ReadWrites(r *doc.Reader, hits int64) (all []Write) {
	last := int64(0)
	for _, s := range r.List("writes") {
		w := Write{
			File:  doc.Need(s, "file", doc.OneOf(kprobes.FileEnabled, kprobes.FileOptimization)),
			Value: doc.Need(s, "value", doc.Text),
			After: doc.Opt(s, "after", 0, doc.Int(0, 10_000_000)),
		}
		switch {
		case w.After < last:
			s.Errorf("after", "%d calls: the write in front of it is after %d", w.After, last)
		case w.After > hits:
			s.Errorf("after", "%d calls: only %d are measured", w.After, hits)
		}
		last = max(last, w.After)
		s.Done()
		all = append(all, w)
	}
	return all
}
