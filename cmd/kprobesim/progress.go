package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/sim"
)

// progress tells how far an experiment is: on a terminal one line that is written over, elsewhere
// one line a point. While nothing ends for a while it tells what is being measured.
type progress struct {
	w        io.Writer
	name     string
	terminal bool
	beat     time.Duration // how long nothing is said at most
	now      func() time.Time

	mu          sync.Mutex
	total, done int
	workers     int
	running     map[*schema.Point]time.Time // since when
	spoke       time.Time
	forecast    *forecast
	quit        chan struct{}
	ended       sync.WaitGroup
}

// How often a sign of life is given.
const (
	beatTerminal  = time.Second
	beatElsewhere = 15 * time.Second
)

func newProgress(w *locked, name string) *progress {
	p := &progress{
		w: w, name: name, terminal: isTerminal(w.w), beat: beatElsewhere, now: time.Now,
		running: map[*schema.Point]time.Time{}, quit: make(chan struct{}), forecast: forecastOf(nil),
	}
	if p.terminal {
		p.beat = beatTerminal
	}
	return p
}

// start has signs of life given for so many points and workers, until done.
func (p *progress) start(points, workers int) {
	p.total, p.workers, p.spoke = points, max(1, workers), p.now()
	p.ended.Go(func() {
		for beats := time.Tick(p.beat / 5); ; {
			select {
			case <-p.quit:
				return
			case <-beats:
				p.alive()
			}
		}
	})
}

// begun notes that a point is being measured.
func (p *progress) begun(pt *schema.Point) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[pt] = p.now()
	p.forecast.begin(pt)
}

// alive says what is being measured, unless something was said lately.
func (p *progress) alive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if now.Sub(p.spoke) < p.beat || len(p.running) == 0 {
		return
	}
	var longest *schema.Point
	for pt, since := range p.running {
		if longest == nil || since.Before(p.running[longest]) || since.Equal(p.running[longest]) && pt.Name < longest.Name {
			longest = pt
		}
	}
	text := p.name + ": "
	if p.total > 0 { // an analysis of sensitivity does not know it before a point has ended
		text += fmt.Sprintf("%d of %d points, ", p.done, p.total)
	}
	text += fmt.Sprintf("measuring %s for %s", longest.Name, now.Sub(p.running[longest]).Round(time.Second))
	text += p.left(now)
	p.say(text)
}

// left says the time until the end, as far as the points that were measured tell.
func (p *progress) left(now time.Time) string {
	running := map[*schema.Point]time.Duration{}
	for pt, since := range p.running {
		running[pt] = now.Sub(since)
	}
	unknown, workers := 0, p.workers
	if p.forecast.plans == 0 { // an analysis knows their number alone
		unknown = p.total - p.done - len(running)
		workers = min(workers, p.total-p.done)
	}
	left := p.forecast.left(running, unknown, workers)
	if left == 0 || p.total <= p.done {
		return ""
	}
	text := fmt.Sprintf(", about %s left", roundTime(left))
	if p.forecast.plans > 1 {
		text += " of all experiments"
	}
	return text
}

// say writes a line, over the last one on a terminal.
func (p *progress) say(text string) {
	p.spoke = p.now()
	if p.terminal {
		fmt.Fprintf(p.w, "\r\x1b[K%s", harmless([]byte(text)))
		return
	}
	fmt.Fprintf(p.w, "%s\n", harmless([]byte(text)))
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

// lookedUp is less than measuring any point takes: one that was that quick was kept from an earlier run.
const lookedUp = 2 * time.Millisecond

// point reports one finished point.
func (p *progress) point(done, total int, o *running.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(done, total, o)
	state := "ok"
	if o.Err != nil {
		state = "failed"
	}
	if p.terminal {
		p.say(fmt.Sprintf("%s: %d of %d points, last %s %s", p.name, done, total, o.Point.Name, state))
		return
	}
	p.say(fmt.Sprintf("%s: %d of %d: %s %s", p.name, done, total, o.Point.Name, state))
}

// end notes a finished point.
func (p *progress) end(done, total int, o *running.Outcome) {
	p.done, p.total = done, total
	if since, ok := p.running[o.Point]; ok {
		if d := p.now().Sub(since); d > lookedUp {
			p.forecast.end(o.Point, d)
		}
		delete(p.running, o.Point)
	}
}

// sparse reports every tenth of many points.
func (p *progress) sparse(done, total int, o *running.Outcome) {
	if o.Err != nil || done == total || done*10/total != (done-1)*10/total {
		p.point(done, total, o)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(done, total, o)
}

// finish ends the signs of life and clears the line of a terminal.
func (p *progress) finish() {
	close(p.quit)
	p.ended.Wait()
	if p.terminal {
		p.clear()
	}
}

// clear clears the line of a terminal.
func (p *progress) clear() { fmt.Fprint(p.w, "\r\x1b[K") }

// patience is how long people wait without a word.
const patience = time.Second

// newPlanning returns what tells how far the planning of a sweep is, once that takes longer than people wait.
func newPlanning(w *locked, now func() time.Time) func(experiment string, done, of int) {
	var p *progress
	var next time.Time
	return func(experiment string, done, of int) {
		if done == 0 {
			p, next = newProgress(w, experiment), now().Add(patience)
		}
		switch {
		case done == of && p.terminal:
			p.clear()
		case done < of && !now().Before(next):
			p.say(fmt.Sprintf("%s: planning, %d of %d combinations of the sweep", p.name, done, of))
			next = now().Add(p.beat)
		}
	}
}

// bootProgress shows a line of a kernel's console from time to time, while the console goes to a file.
type bootProgress struct {
	w    io.Writer
	beat time.Duration // between two lines that are shown
	now  func() time.Time

	spoke time.Time
	line  string // as far as it has come
}

func newBootProgress(w *locked) *bootProgress {
	p := &bootProgress{w: w, beat: beatElsewhere, now: time.Now, spoke: time.Now()}
	if isTerminal(w.w) {
		p.beat = beatTerminal
	}
	return p
}

// print is told of what the console prints, a few bytes at a time.
func (p *bootProgress) print(_ *sim.Machine, s string) {
	p.line += s
	for {
		whole, rest, ended := strings.Cut(p.line, "\n")
		if !ended {
			return
		}
		p.line = rest
		if now := p.now(); now.Sub(p.spoke) >= p.beat {
			p.spoke = now
			fmt.Fprintf(p.w, "%s\n", harmless([]byte(strings.TrimRight(whole, "\r"))))
		}
	}
}
