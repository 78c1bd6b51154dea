package results

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
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
			if edge || c == '%' || c == ';' || CheckField("x"+string(c)+"x") != nil {
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
			return nil, fmt.Errorf("settings %q: %w", clip(field), err)
		}
		sets[i] = plain
	}
	if packOverrides(sets) != field {
		return nil, fmt.Errorf("settings %q are not as they are written", clip(field))
	}
	return sets, nil
}

// cutOverrides takes the settings off a line and holds them against those of the lines before it.
func (s *Set) cutOverrides(text string) (rest string, err error) {
	at := strings.LastIndex(text, ",")
	if at < 0 {
		return "", errors.New("no column of settings")
	}
	if s.Overrides == nil {
		if s.Overrides, err = unpackOverrides(text[at+1:]); err != nil {
			return "", err
		}
	}
	if packOverrides(s.Overrides) != text[at+1:] {
		return "", errors.New("other settings than in the lines above")
	}
	return text[:at], nil
}

// OverridesText is what titles say of the settings: all of them when that is short, else their number.
func (s *Set) OverridesText() string {
	const most = 60
	if len(s.Overrides) == 0 {
		return ""
	}
	if all := strings.Join(s.Overrides, ", "); len(all) <= most {
		return ", with " + all
	}
	return fmt.Sprintf(", with %d settings changed", len(s.Overrides))
}

// ShowOverrides adds the settings of a set to the title and the caption of a figure of it.
func ShowOverrides(f Figure, s *Set) {
	if len(s.Overrides) == 0 {
		return
	}
	frame := f.frame()
	frame.Title += s.OverridesText()
	frame.Caption = append(frame.Caption, "set: "+strings.Join(s.Overrides, ", "))
}
