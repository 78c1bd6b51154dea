// Package require has what tests want of errors.
package require

import (
	"fmt"
	"strings"
	"testing"
)

// NoError ends a test at an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Error wants an error that says something. Format and its values tell what was tried.
func Error(t testing.TB, err error, says, format string, values ...any) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: error %v, want %q", fmt.Sprintf(format, values...), err, says)
	}
}

// Err is the error of a call that returns a value, too.
func Err[T any](_ T, err error) error { return err }

// Must returns the value of a call, and ends a test at its error: v := require.Must(f())(t).
func Must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		NoError(t, err)
		return v
	}
}
