package formats

import (
	"fmt"
	"net/url"
	"strings"

	"kprobesim/results"
)

// overridesGap parts settings in one field.
const overridesGap = "; "

// packOverrides writes settings as one field of the long form. What a field cannot hold, and what parts
// settings, is written as in a URL.
func packOverrides(sets []string) string {
	packed := make([]string, len(sets))
	for i, s := range sets {
		var b strings.Builder
		inner := strings.TrimSpace(s)
		for at, c := range s {
			edge := at < strings.Index(s, inner) || at >= strings.Index(s, inner)+len(inner)
			if edge || c == '%' || c == ';' || results.CheckField("x"+string(c)+"x") != nil {
				b.WriteString(url.PathEscape(string(c)))
				continue
			}
			b.WriteRune(c)
		}
		packed[i] = b.String()
	}
	return strings.Join(packed, overridesGap)
}

// unpackOverrides is the inverse of packOverrides.
func unpackOverrides(field string) ([]string, error) {
	sets := strings.Split(field, overridesGap)
	for i, s := range sets {
		plain, err := url.PathUnescape(s)
		if err != nil {
			return nil, fmt.Errorf("settings %.80q: %w", field, err)
		}
		sets[i] = plain
	}
	return sets, nil
}
