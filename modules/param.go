package modules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kprobesim/image/object"
)

// paramSection has a record for each parameter of a module, of six words: pointer to the name, kind, address, bytes of one
// value, most values of an array or 0, and the address of the number of values or 0. The guest's linux/moduleparam.h
// makes them.
const (
	paramSection = "__param"
	paramWords   = 6
)

// kind is how a value is written.
type kind uint32

// The kinds of linux/moduleparam.h.
const (
	kindSigned kind = iota + 1
	kindUnsigned
	kindBool
	kindInverse // a bool that is stored the other way round
	kindPointer // to a string of its own
	kindString  // an array of char
)

// param is a parameter of a module.
type param struct {
	name          string
	kind          kind
	at, size, max uint64
	count         uint64
}

// paramsOf reads the records.
func paramsOf(m *object.Module) ([]param, error) {
	var out []param
	s, ok := m.Section(paramSection)
	if !ok {
		return nil, nil
	}
	word := m.WordBytes()
	for at := s.Addr; at+paramWords*word <= s.Addr+s.Size; at += paramWords * word {
		var w [paramWords]uint64
		for i := range w {
			w[i], _ = m.Word(at + uint64(i)*word)
		}
		k, _ := m.Int(at + word)
		name, ok := m.String(w[0])
		if !ok {
			return nil, fmt.Errorf("section %s+%#x: the name of a parameter is not in the module", paramSection, at-s.Addr)
		}
		out = append(out, param{name, kind(k), w[2], w[3], w[4], w[5]})
	}
	return out, nil
}

// setParameters writes what "name=value" words say, separated by spaces. A value with spaces stands in double quotes. As in
// the kernel, a dash in a name stands for an underscore.
func (l *Loader) setParameters(mod *Module, text string) error {
	all, err := paramsOf(mod.m)
	if err != nil {
		return err
	}
	words, err := splitWords(text)
	if err != nil {
		return err
	}
	for _, w := range words {
		name, value, given := strings.Cut(w, "=")
		name = strings.ReplaceAll(name, "-", "_")
		i := slices.IndexFunc(all, func(p param) bool { return p.name == name })
		if i < 0 {
			return fmt.Errorf("unknown parameter %q: known are %s", name, paramNames(all))
		}
		if err := l.set(mod, all[i], value, given); err != nil {
			return fmt.Errorf("parameter %s: %w", name, err)
		}
	}
	return nil
}

func paramNames(all []param) string {
	if len(all) == 0 {
		return "none"
	}
	var names []string
	for _, p := range all {
		names = append(names, p.name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// splitWords splits at spaces outside of double quotes, which are taken away.
func splitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	quoted, begun := false, false
	for _, r := range text {
		switch {
		case r == '"':
			quoted, begun = !quoted, true
		case !quoted && (r == ' ' || r == '\t' || r == '\n'):
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if quoted {
		return nil, fmt.Errorf("parameters %q: a quote is not closed", text)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// set writes one parameter. Only a bool may come without a value.
func (l *Loader) set(mod *Module, p param, value string, given bool) error {
	if !given && p.kind != kindBool && p.kind != kindInverse {
		return fmt.Errorf("it has no value: write %s=VALUE", p.name)
	}
	if !given {
		value = "y"
	}
	if p.max == 0 {
		return l.setOne(mod, p, p.at, value)
	}
	values := strings.Split(value, ",")
	if uint64(len(values)) > p.max {
		return fmt.Errorf("%d values: it takes at most %d", len(values), p.max)
	}
	for i, v := range values {
		if err := l.setOne(mod, p, p.at+uint64(i)*p.size, v); err != nil {
			return err
		}
	}
	if p.count == 0 {
		return nil
	}
	return l.m.Store(p.count, 4, uint64(len(values)))
}

// setOne writes one value at an address.
func (l *Loader) setOne(mod *Module, p param, at uint64, value string) error {
	switch p.kind {
	case kindSigned:
		v, err := strconv.ParseInt(value, 0, int(8*p.size))
		if err != nil {
			return fmt.Errorf("%q is no number with sign of %d bytes", value, p.size)
		}
		return l.m.Store(at, int(p.size), uint64(v))
	case kindUnsigned:
		v, err := strconv.ParseUint(value, 0, int(8*p.size))
		if err != nil {
			return fmt.Errorf("%q is no number without sign of %d bytes", value, p.size)
		}
		return l.m.Store(at, int(p.size), v)
	case kindBool, kindInverse:
		return l.setBool(p, at, value)
	case kindPointer:
		return l.setPointer(mod, at, value)
	case kindString:
		if uint64(len(value)) >= p.size {
			return fmt.Errorf("%d letters: it has room for %d", len(value), max(p.size, 1)-1)
		}
		return l.m.WriteBytes(at, append([]byte(value), 0))
	}
	return fmt.Errorf("its kind %d is not known: compile the module against the headers of this version", p.kind)
}

// setBool takes what the kernel takes for yes and no.
func (l *Loader) setBool(p param, at uint64, value string) error {
	v := uint64(0)
	switch value {
	case "y", "Y", "1":
		v = 1
	case "n", "N", "0":
	default:
		return fmt.Errorf("%q is neither y nor n", value)
	}
	if p.kind == kindInverse {
		v ^= 1
	}
	return l.m.Store(at, int(p.size), v)
}

// setPointer gives a string memory of its own.
func (l *Loader) setPointer(mod *Module, at uint64, value string) error {
	text := append([]byte(value), 0)
	to, err := l.m.Alloc(uint64(len(text)), 0)
	if err != nil {
		return err
	}
	mod.memory = append(mod.memory, to)
	if err := l.m.WriteBytes(to, text); err != nil {
		return err
	}
	return l.m.Store(at, l.m.Image().Bits/8, to)
}
