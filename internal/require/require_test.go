package require

import (
	"errors"
	"fmt"
	"runtime/debug"
	"testing"
	"time"
)

// noted is a test that notes what it is told, and that goes on behind its end.
type noted struct {
	testing.TB
	said   string
	ended  bool
	helped bool
}

func (n *noted) Helper()                        { n.helped = true }
func (n *noted) Errorf(f string, values ...any) { n.said = fmt.Sprintf(f, values...) }
func (n *noted) Fatalf(f string, values ...any) { n.said, n.ended = fmt.Sprintf(f, values...), true }
func (n *noted) Fatal(values ...any)            { n.said, n.ended = fmt.Sprint(values...), true }

// TestWants meets each want and misses it. All other tests rest on it.
func TestWants(t *testing.T) {
	odd := errors.New("it is odd")
	for i, x := range []struct {
		want func(t testing.TB)
		said string
		ends bool
	}{
		{func(t testing.TB) { That(t, true, "one %d", 1) }, "", false},
		{func(t testing.TB) { That(t, false, "one %d", 1) }, "one 1", false},
		{func(t testing.TB) { Need(t, true, "one %d", 1) }, "", false},
		{func(t testing.TB) { Need(t, false, "one %d", 1) }, "one 1", true},
		{func(t testing.TB) { Equal(t, 2, 2, "sum") }, "", false},
		{func(t testing.TB) { Equal(t, 2, 3, "sum of %s", "all") }, "sum of all: 2, want 3", false},
		{func(t testing.TB) { Equal(t, "a ", "a", "text") }, `text: "a ", want "a"`, false},
		{func(t testing.TB) { Equal(t, uint8(16), 1, "bits") }, "bits: 16 (0x10), want 1 (0x1)", false},
		{func(t testing.TB) { Equal(t, time.Second, time.Minute, "time") }, "time: 1s, want 1m0s", false},
		{func(t testing.TB) { Got(2, nil)(t, 2, "sum") }, "", false},
		{func(t testing.TB) { Got(2, nil)(t, 3, "sum") }, "sum: 2 and error <nil>, want 3", false},
		{func(t testing.TB) { Got(2, odd)(t, 2, "sum") }, "sum: 2 and error it is odd, want 2", false},
		{func(t testing.TB) { Error(t, odd, "odd", "a try") }, "", false},
		{func(t testing.TB) { Error(t, odd, "even", "a try") }, `a try: error it is odd, want "even"`, false},
		{func(t testing.TB) { Error(t, nil, "", "a try") }, `a try: error <nil>, want ""`, false},
		{func(t testing.TB) { NoError(t, nil) }, "", false},
		{func(t testing.TB) { NoError(t, odd) }, "it is odd", true},
		{func(t testing.TB) { Must(1, odd)(t) }, "it is odd", true},
	} {
		n := &noted{}
		if x.want(n); n.said != x.said || n.ended != x.ends || n.helped != (x.said != "") {
			t.Errorf("want %d says %q, ends %t, names its caller %t; it should say %q, end %t", i, n.said, n.ended, n.helped, x.said, x.ends)
		}
	}
}

// TestCollect has garbage collected less often, but where GOGC says how often.
func TestCollect(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(77))
	Equal(t, collect("50"), 0, "where GOGC is set, what was")
	Equal(t, collect(""), 77, "what was")
	Equal(t, collect(""), 300, "what is")
}
