package distro

import (
	"reflect"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// TestDescribe holds that values which differ anywhere are told apart, and that the order of a map does not count.
func TestDescribe(t *testing.T) {
	type inner struct{ Low, High int64 }
	type sample struct {
		Name string
		On   bool
		By   map[string]inner
		List []uint16
		No   map[uint64][]uint64
	}
	text := func(v any) string {
		var b strings.Builder
		require.NoError(t, describe(&b, "x", reflect.ValueOf(v)))
		return b.String()
	}
	base := func() sample {
		return sample{"a", true, map[string]inner{"one": {1, 2}, "two": {3, 4}}, []uint16{5, 6}, map[uint64][]uint64{7: {8}}}
	}
	seen := map[string]string{text(base()): "nothing"}
	for what, change := range map[string]func(*sample){
		"name": func(s *sample) { s.Name = "a\nx.On: true" }, "flag": func(s *sample) { s.On = false },
		"value": func(s *sample) { s.By["two"] = inner{3, 5} }, "more": func(s *sample) { s.By["three"] = inner{} },
		"list": func(s *sample) { s.List = []uint16{56} }, "second": func(s *sample) { s.List[1] = 7 }, "order": func(s *sample) { s.List = []uint16{6, 5} },
		"moved": func(s *sample) { s.No = map[uint64][]uint64{7: {}, 8: {8}} },
	} {
		s := base()
		change(&s)
		other, ok := seen[text(s)]
		require.That(t, !ok, "a change of %s is the same as one of %s", what, other)
		seen[text(s)] = what
	}
	for range 20 {
		_, ok := seen[text(base())]
		require.Need(t, ok, "the same value has two texts")
	}
	require.Error(t, describe(&strings.Builder{}, "x", reflect.ValueOf(struct{ F func() }{})), "x.F", "a function is described")
}
