package compare

import (
	"fmt"
	"maps"
	"slices"

	"kprobesim/results"
)

// mostCauses bounds how many inputs are named.
const mostCauses = 12

// causes says which inputs differ.
func causes(old, now results.Keys) []string {
	switch {
	case old == nil || now == nil:
		return []string{"unknown: the inputs of one side are not recorded"}
	case maps.Equal(old, now):
		return []string{"no input differs, so the program itself does"}
	}
	all := maps.Clone(old)
	maps.Copy(all, now)
	var out []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		was, had := old[key]
		is, has := now[key]
		switch {
		case had && has && was != is:
			out = append(out, fmt.Sprintf("%s: %s -> %s", key, was, is))
		case had && !has:
			out = append(out, fmt.Sprintf("%s: was %s, is gone", key, was))
		case has && !had:
			out = append(out, fmt.Sprintf("%s: %s is new", key, is))
		}
	}
	if n := len(out); n > mostCauses {
		out = append(out[:mostCauses:mostCauses], fmt.Sprintf("and %d inputs more", n-mostCauses))
	}
	return out
}
