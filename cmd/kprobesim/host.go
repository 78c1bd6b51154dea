package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// sticky keeps the first error of a writer, so that a table that could not be printed does not pass for a success. It
// writes out characters that are commands to a terminal.
type sticky struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (s *sticky) Write(b []byte) (n int, err error) {
	if s.err != nil {
		return 0, s.err
	}
	_, s.err = s.w.Write(harmless(b))
	return len(b), s.err
}

// locked is a writer for several goroutines.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements io.Writer.
func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// grace is the time that running points have to end after an interrupt: most take less.
const grace = 2 * time.Second

// untilInterrupt returns a channel that is closed when somebody interrupts the program, or asks it to end. A second
// interrupt ends the program as it would without this. done ends the watch.
func (a *app) untilInterrupt() (stop <-chan struct{}, done func()) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	told := context.AfterFunc(ctx, func() {
		cancel()
		fmt.Fprintf(a.err, "kprobesim: interrupted: waiting %s for the points that are being measured; interrupt again to end at once\n", grace)
	})
	return ctx.Done(), func() {
		told() // no message for an end that nobody asked for
		cancel()
	}
}
