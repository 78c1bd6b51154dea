// Package require has what tests want of values and errors. A want that is not met goes on with the test, but for NoError, Must
// and Need, behind which nothing makes sense. Helper walks the stack, so it is called where a want is not met.
package require

import (
	"fmt"
	"strings"
	"testing"
)

// NoError ends a test at an error.
func NoError(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// That wants a condition to hold, and reports a text otherwise.
func That(t testing.TB, holds bool, format string, values ...any) {
	if !holds {
		t.Helper()
		t.Errorf(format, values...)
	}
}

// Need is That for a condition without which the test ends.
func Need(t testing.TB, holds bool, format string, values ...any) {
	if !holds {
		t.Helper()
		t.Fatalf(format, values...)
	}
}

// Equal wants a value. Format and its values tell what it is of.
func Equal[T comparable](t testing.TB, got, want T, format string, values ...any) {
	if got != want {
		t.Helper()
		t.Errorf("%s: %s, want %s", fmt.Sprintf(format, values...), shown(got), shown(want))
	}
}

// Got is Equal for the value of a call that returns an error, too: require.Got(f())(t, want, "f").
func Got[T comparable](got T, err error) func(t testing.TB, want T, format string, values ...any) {
	return func(t testing.TB, want T, format string, values ...any) {
		if err != nil || got != want {
			t.Helper()
			t.Errorf("%s: %s and error %v, want %s", fmt.Sprintf(format, values...), shown(got), err, shown(want))
		}
	}
}

// shown writes texts in quotes, as spaces may differ, and numbers without a sign as addresses, too.
func shown(v any) string {
	switch v := v.(type) {
	case fmt.Stringer:
		return v.String()
	case string:
		return fmt.Sprintf("%q", v)
	case uint64, uint32, uint16, uint8, uint, uintptr:
		return fmt.Sprintf("%d (%#x)", v, v)
	}
	return fmt.Sprintf("%+v", v)
}

// Error wants an error that says something. Format and its values tell what was tried.
func Error(t testing.TB, err error, says, format string, values ...any) {
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Helper()
		t.Errorf("%s: error %v, want %q", fmt.Sprintf(format, values...), err, says)
	}
}

// Err is the error of a call that returns a value, too.
func Err[T any](_ T, err error) error { return err }

// Must returns the value of a call, and ends a test at its error: v := require.Must(f())(t).
func Must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
		return v
	}
}
