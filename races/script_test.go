package races

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// script matches the script of a scenario.
var script = regexp.MustCompile(`(?s)\nscript = \[\n.*?\n\]\n`)

// TestOtherScripts has scripts that ask for what cannot be, and such as no scenario has, and holds what comes of each.
func TestOtherScripts(t *testing.T) {
	var out strings.Builder
	for _, x := range []struct {
		scenario, variant string
		scripts           []string
	}{
		{"optimize", "breakpoint", []string{
			"unregister p", "enable p", "disable p", "register p, register p", "register p, disable p, disable p, enable p, enable p", "register p, expect p optimized",
			"register p, expect p queued", "register p, settle, expect p queued", "register p, settle, expect p stepped", "register p, await p optimized, expect p optimized",
			"register p, settle, disable p, await p disabled", "register p, stop, unregister p, unregister p",
		}},
		{"rmmod", "stop_machine", []string{
			"register p", "rmmod", "rmmod p", "insmod p, insmod r", "insmod, register p, rmmod", "insmod p r, rmmod p", "insmod, rmmod p", "insmod p, rmmod, register p",
		}},
		{"watch", "2010", []string{"unwatch a", "watch a, watch a", "watch a b, unwatch b a, unwatch a", "watch a"}},
		{"user", "2010", []string{"unregister p", "register p, register p", "register p, unregister p, unregister p", "register p"}},
		{"user-pages", "2010", []string{"drop, discard, spawn 2", "register p, drop, spawn 1, discard", "register p, discard, unregister p, drop"}},
	} {
		s := require.Must(Load(x.scenario))(t)
		require.Need(t, script.MatchString(s.Text), "%s has no script", x.scenario)
		for _, actions := range x.scripts {
			fmt.Fprintf(&out, "%s: %s: ", x.scenario, actions)
			other, err := Parse("other.toml", []byte(script.ReplaceAllLiteralString(s.Text, "\nscript = [\""+strings.ReplaceAll(actions, ", ", "\", \"")+"\"]\n")))
			if err != nil {
				fmt.Fprintln(&out, err)
				continue
			}
			v, err := other.Variant(x.variant)
			if err != nil {
				v = &other.Variants[0]
			}
			l := require.Must(newLab(other, v, ""))(t)
			done, err := l.run(roundRobin{}, 0, 1)
			switch {
			case err != nil:
				fmt.Fprintln(&out, "error:", err)
			case done[0].Violation != nil:
				fmt.Fprintf(&out, "%s: %s\n", done[0].Violation.Kind, done[0].Violation.Text)
			default:
				fmt.Fprintf(&out, "fine, %d instructions, %d calls, %d hits\n", done[0].Steps, done[0].Calls, done[0].Hits)
			}
		}
	}
	require.Lines(t, "testdata/scripts.txt", out.String(), *update)
}

// TestBroken says of each violation what it breaks.
func TestBroken(t *testing.T) {
	var out strings.Builder
	for _, k := range []Kind{Torn, Inside, Stale, Unsynced, Lost, Doubled, Result, Leaked, Missed, Late, Hung, Died} {
		fmt.Fprintf(&out, "%s: %s\n", k, broken(k, "the manual"))
	}
	require.Lines(t, "testdata/broken.txt", out.String(), *update)
}

// TestCallersOfNoCPU ends a schedule with the reason when a task cannot be started.
func TestCallersOfNoCPU(t *testing.T) {
	s := require.Must(Load("optimize"))(t)
	s.Callers = slices.Clone(s.Callers)
	s.Callers[0].CPU = s.CPUs
	_, err := require.Must(newLab(s, &s.Variants[0], ""))(t).run(roundRobin{}, 0, 1)
	require.Error(t, err, "is not online", "a caller of CPU %d", s.CPUs)
}
