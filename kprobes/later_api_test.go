package kprobes

import (
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/smp"
)

// A probe may stand at each instruction of the switch of tasks, which begins on one stack and ends on another.
func TestSwitchOfTasksIsProbed(t *testing.T) {
	for _, image := range laterImages() {
		for _, o := range []Options{boosting(), Default()} {
			o.Preempt = strings.HasSuffix(image, "-preempt")
			bootImage(t, image, o, func(l *live) {
				want := uint64(0)
				for _, off := range l.offsets("__switch_to") {
					p := l.add(Spec{Symbol: "__switch_to", Offset: off, Handler: "handler_count"})
					if o.OptProbes {
						l.do(l.k.WaitOptimizer(l.Call))
					}
					hits := l.percpu("handler_hits")
					task := value(l.smp.Go(l.Call, "other", func(smp.Caller) error { return nil }))(l)
					l.do(l.smp.Join(l.Call, task))
					n := l.percpu("handler_hits") - hits
					if want == 0 {
						want = n
					}
					st := l.state(p)
					require.That(t, n != 0 && n == want && st.NMissed == 0, "%s: __switch_to+%#x (%s): %d hits, %d missed; want %d", image, off, st.Mode, n, st.NMissed, want)
					l.remove(p)
				}
			})
		}
	}
}
