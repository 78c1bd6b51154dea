// Package defect turns a panic of this program into an error that says where it was met, so that one
// broken invariant ends one point or one batch of schedules and not the whole run.
package defect

import (
	"fmt"
	"runtime/debug"
)

// Error is a defect of this program, with the point or the schedules that it was met in.
type Error struct {
	Point string
	Value any // what panic was called with
	Stack []byte
}

// New makes an error of a recovered value. Call it in the deferred function that recovers.
func New(point string, value any) *Error { return &Error{point, value, debug.Stack()} }

// Error names the point.
func (e *Error) Error() string {
	return fmt.Sprintf("point %s: internal error: %v", e.Point, e.Value)
}
