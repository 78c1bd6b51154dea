package main

import (
	"fmt"
	"io"
	"os"

	"kprobesim/experiments/running"
)

// progress tells how far an experiment is: on a terminal one line that is written over, elsewhere
// one line a point.
type progress struct {
	w        io.Writer
	name     string
	terminal bool
}

func newProgress(w *locked, name string) *progress {
	return &progress{w: w, name: name, terminal: isTerminal(w.w)}
}

// isTerminal reports whether w is a terminal that can return to the start of a line.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || os.Getenv("TERM") == "" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// point reports one finished point.
func (p *progress) point(done, total int, o *running.Outcome) {
	state := "ok"
	if o.Err != nil {
		state = "failed"
	}
	if p.terminal {
		fmt.Fprintf(p.w, "\r\x1b[K%s: %d of %d points, last %s %s", p.name, done, total,
			o.Point.Name, state)
		return
	}
	fmt.Fprintf(p.w, "%s: %d of %d: %s %s\n", p.name, done, total, o.Point.Name, state)
}

// sparse reports every tenth of many points.
func (p *progress) sparse(done, total int, o *running.Outcome) {
	if o.Err != nil || done == total || done*10/total != (done-1)*10/total {
		p.point(done, total, o)
	}
}

// done clears the line of a terminal.
func (p *progress) done() {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
