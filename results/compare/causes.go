package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kprobesim/results/formats"
)

// mostCauses bounds how many inputs are named.
const mostCauses = 12

// causes says which inputs differ.
func causes(old, now formats.Keys) []string {
	switch {
	case old == nil || now == nil:
		return []string{"unknown: the inputs of one side are not recorded"}
	case maps.Equal(old, now):
		return []string{"no input differs, so the program itself does"}
	}
	all := maps.Clone(old)
	maps.Copy(all, now)
	var out []string
	for _, key := range settingsFirst(slices.Sorted(maps.Keys(all))) {
		was, had := old[key]
		is, has := now[key]
		switch {
		case had && has && was != is:
			out = append(out, fmt.Sprintf("%s: %s -> %s", key, was, is))
		case had && !has:
			out = append(out, fmt.Sprintf("%s: was %s, is gone", key, was))
		case has && !had && instead(old, key) != "":
			out = append(out, fmt.Sprintf("%s: %s -> %s", key, instead(old, key), is))
		case has && !had:
			out = append(out, fmt.Sprintf("%s: %s is new", key, is))
		}
	}
	if n := len(out); n > mostCauses {
		out = append(out[:mostCauses:mostCauses], fmt.Sprintf("and %d inputs more", n-mostCauses))
	}
	return out
}

// setting begins the keys of settings, and ofMachine follows where they are for the machine.
const setting, ofMachine = "setting ", "machine."

// settingsFirst puts the keys that somebody has set in front of the keys of files: they are the likeliest cause.
func settingsFirst(keys []string) []string {
	isFile := func(key string) bool { return !strings.HasPrefix(key, setting) }
	return append(slices.DeleteFunc(slices.Clone(keys), isFile), slices.DeleteFunc(keys, func(k string) bool { return !isFile(k) })...)
}

// instead is the value of the files in whose place a setting came; "" where they have none, or several.
func instead(files formats.Keys, key string) string {
	name, ok := strings.CutPrefix(key, setting)
	if !ok {
		return ""
	}
	what := "experiment "
	if of, ok := strings.CutPrefix(name, ofMachine); ok {
		what, name = ofMachine[:len(ofMachine)-1]+" ", of
	}
	values := map[string]bool{}
	for k, v := range files {
		if strings.HasPrefix(k, what) && strings.HasSuffix(k, " "+name) {
			values[v] = true
		}
	}
	if len(values) != 1 {
		return ""
	}
	return slices.Collect(maps.Keys(values))[0]
}
