package running

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
)

// Limit ends measurements from outside: one that takes too much time of the host, and those that run when the program is
// to end. A guest that loops would go on for minutes otherwise, until its budget of simulated time is used up.
type Limit struct {
	Time   time.Duration   // of the host, for one point; 0 for no limit
	Option string          // that sets it, for the error
	Stop   <-chan struct{} // closed when the program is to end; may be nil
	Grace  time.Duration   // that points have from then on to come to their end
}

// ErrLimit is wrapped by the error of a point that took too much time of the host.
var ErrLimit = errors.New("host time is used up, the guest may loop for ever")

// Measure is a measure under the limit. The error of a point that it ends says where its CPUs were.
func (l Limit) Measure(inner Measure) Measure {
	return func(p *schema.Point) (*kinds.Measurement, error) {
		one := *p
		halt, done := l.Begin()
		defer done()
		one.Halt = halt
		return inner(&one)
	}
}

// Begin starts the clock of one measurement, whose machines ask halt between their turns. Done stops the clock.
func (l Limit) Begin() (halt func() error, done func()) {
	var reason atomic.Pointer[error]
	quit := make(chan struct{})
	go func() {
		if err := l.await(quit); err != nil {
			reason.Store(&err)
		}
	}()
	halt = func() error {
		if err := reason.Load(); err != nil {
			return *err
		}
		return nil
	}
	return halt, func() { close(quit) }
}

// await returns why a measurement is to end, nil when quit comes first.
func (l Limit) await(quit <-chan struct{}) error {
	var late, over <-chan time.Time
	if l.Time > 0 {
		late = time.After(l.Time)
	}
	for stop := l.Stop; ; {
		select {
		case <-quit:
			return nil
		case <-late:
			return fmt.Errorf("%s of %w (raise %s if it needs more)", l.Time, ErrLimit, l.Option)
		case <-over:
			return ErrInterrupted
		case <-stop:
			stop, over = nil, time.After(l.Grace)
		}
	}
}
