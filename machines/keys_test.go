package machines_test

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/x86"
	"kprobesim/internal/doc"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/machines"
	"kprobesim/targets"
)

var update = flag.Bool("update", false, "write the golden file of this package again")

// TestEveryKey reads descriptions of each instruction set, also with each key left out, and set to values that are too small, too large,
// of another type or unknown. The golden file has how many are refused and the sum of all that was read, so that a limit that
// moves shows. KPROBESIM_OUTCOMES names a file that takes the descriptions and errors.
func TestEveryKey(t *testing.T) {
	isas := instructionSets()
	whole := *update || hosttools.Whole(t, "each key with eight values", "with two")
	var out, all strings.Builder
	for _, name := range []string{"testdata/rare", "power5-1656", "tc2-cortex-a15"} {
		root := document(t, name)
		var errs doc.Errors
		shipped := map[string]bool{}
		for _, line := range numbers("", reflect.ValueOf(*machines.Read(root, isas, &errs)), nil) {
			shipped[line] = true
		}
		require.NoError(t, errs.Err())
		fmt.Fprintf(&out, "%s: sum %.6x\n", name, sha256.Sum256([]byte(strings.Join(slices.Sorted(maps.Keys(shipped)), "\n"))))
		for _, value := range []string{"", "0", "1", "7", "64", "\"1/7\"", "\"1/60\"", "\"3 KiB\"", "true"} {
			if !whole && !slices.Contains([]string{"", "64", "true"}, value) {
				continue
			}
			var texts strings.Builder
			refused := 0
			keys := leaves(nil, root)
			for _, key := range keys {
				changed := root.Clone()
				change(t, changed, key, value)
				var errs doc.Errors
				m := machines.Read(changed, isas, &errs)
				if errs.Err() != nil {
					refused++
					fmt.Fprintf(&texts, "%s %s=%s: %v\n", name, key, value, errs.Err())
					continue
				}
				left := maps.Clone(shipped)
				other := slices.DeleteFunc(numbers("", reflect.ValueOf(*m), nil), func(line string) bool { delete(left, line); return shipped[line] })
				fmt.Fprintf(&texts, "%s %s=%s: %q in the place of %q\n", name, key, value, other, slices.Sorted(maps.Keys(left)))
			}
			all.WriteString(texts.String())
			fmt.Fprintf(&out, "%s, %s: %d of %d refused, sum %.6x\n", name, value, refused, len(keys), sha256.Sum256([]byte(texts.String())))
		}
	}
	if file := os.Getenv("KPROBESIM_OUTCOMES"); file != "" {
		require.NoError(t, os.WriteFile(file, []byte(all.String()), 0o644))
	}
	if whole {
		require.Lines(t, "testdata/keys.txt", out.String(), *update)
	} else {
		require.Among(t, "testdata/keys.txt", out.String())
	}
}

// numbers appends what a description has become, a line for each plain value that is not zero.
func numbers(path string, v reflect.Value, all []string) []string {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			all = numbers(path+"."+v.Type().Field(i).Name, v.Field(i), all)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			all = numbers(fmt.Sprintf("%s[%d]", path, i), v.Index(i), all)
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for _, k := range keys {
			all = numbers(fmt.Sprintf("%s[%v]", path, k), v.MapIndex(k), all)
		}
	case reflect.Func, reflect.Pointer, reflect.Interface:
	default:
		if !v.IsZero() {
			all = append(all, fmt.Sprintf("%s: %v", path, v))
		}
	}
	return all
}

// TestStoreBlocks refuses a core with both ways of its stores.
func TestStoreBlocks(t *testing.T) {
	root := document(t, "testdata/pipes")
	change(t, root, []string{"back_end", "store_pairs"}, "true")
	var errs doc.Errors
	machines.Read(root, []*cpus.ISA{x86.ISA64()}, &errs)
	require.Error(t, errs.Err(), "leave one of them out", "store_pairs beside store_block")
}

// TestOperationsOfAClass takes as many sets of pipes as an instruction has operations, and not one more.
func TestOperationsOfAClass(t *testing.T) {
	for sets, want := range map[int]string{cpus.MaxUops - 1: "", cpus.MaxUops: "9 operations; at most 8 go to pipes"} {
		root := document(t, "testdata/pipes")
		change(t, root, []string{"cost", "rotate_carry", "ports"}, "["+strings.Repeat(`"alu",`, sets)+"]")
		var errs doc.Errors
		machines.Read(root, []*cpus.ISA{x86.ISA64()}, &errs)
		if want == "" {
			require.NoError(t, errs.Err())
		} else {
			require.Error(t, errs.Err(), want, "%d sets beside the port", sets)
		}
	}
}

// document reads a shipped description, and whatever it builds on, or one of testdata, where those that are still measured have a copy.
func document(t *testing.T, name string) *doc.Node {
	t.Helper()
	file := filepath.Join("..", "experiments", "machines", name+".toml")
	if strings.HasPrefix(name, "testdata/") {
		file = name + ".toml"
	}
	root := require.Must(doc.Parse(name, require.Must(os.ReadFile(file))(t)))(t)
	if base := root.Get("base"); base != nil {
		return doc.Merge(document(t, base.Text), root)
	}
	return root
}

// leaves returns the paths of all keys of a description, but of classes of instructions a few.
func leaves(above []string, n *doc.Node) (all [][]string) {
	for i, f := range n.Fields {
		path := append(slices.Clone(above), f.Key)
		switch {
		case len(above) == 1 && above[0] == "cost" && i%24 != 0, f.Key == "source", len(above) == 1 && above[0] == "sources":
		case f.Value.Kind == doc.Table:
			all = append(append(all, path), leaves(path, f.Value)...)
		default:
			all = append(all, path)
		}
	}
	return all
}

// change sets a key, or takes it out.
func change(t *testing.T, root *doc.Node, path []string, value string) {
	t.Helper()
	if value == "" {
		n := root.Find(path[:len(path)-1]...)
		n.Fields = slices.DeleteFunc(n.Fields, func(f doc.Field) bool { return f.Key == path[len(path)-1] })
		return
	}
	s := require.Must(doc.ParseSetting("v=" + value))(t)
	s.Path = path
	require.NoError(t, s.Apply(root))
}

// outside finds the keys that have limits, and what they are, in what refuses other numbers.
var outside = regexp.MustCompile(`(\S+): (-?\d+(?: B)?) is outside (\d+(?: \w+)?) to (\d+(?: \w+)?)`)

// numberOf is a number as descriptions have it, or a size in bytes.
func numberOf(text string) (int64, bool) {
	v, err := doc.Size().Whole(false, -1<<40, 1<<40)(&doc.Node{Kind: doc.String, Text: text})
	if err != nil {
		v, err = strconv.ParseInt(text, 0, 64)
	}
	return v, err == nil
}

// TestLimitsOfKeys sets all keys that have limits to both of them, and to the next number on either side. The golden file has the
// limits, and what another check says of numbers within.
func TestLimitsOfKeys(t *testing.T) {
	isas := instructionSets()
	var out strings.Builder
	for _, name := range []string{"testdata/rare", "power5-1656", "tc2-cortex-a15"} {
		root, units := document(t, name), map[string]string{}
		keys := slices.DeleteFunc(leaves(nil, root), func(key []string) bool {
			n := root.Find(key...)
			if _, ok := numberOf(n.Text); n.Kind == doc.String && ok {
				units[strings.Join(key, ".")] = " B"
				return false
			}
			return n.Kind != doc.Integer
		})
		refused := func(value func(key string) int64) (limits map[string][2]int64, others []string) {
			t.Helper()
			text := func(key string) string { return fmt.Sprint(value(key), units[key]) }
			changed := root.Clone()
			for _, key := range keys {
				change(t, changed, key, text(strings.Join(key, ".")))
			}
			var errs doc.Errors
			machines.Read(changed, isas, &errs)
			limits = map[string][2]int64{}
			for line := range strings.Lines(fmt.Sprint(errs.Err())) {
				if m := outside.FindStringSubmatch(line); m != nil && m[2] == text(m[1]) {
					least, _ := numberOf(m[3])
					most, _ := numberOf(m[4])
					limits[m[1]] = [2]int64{least, most}
				} else {
					others = append(others, line)
				}
			}
			return limits, others
		}
		limits, _ := refused(func(string) int64 { return 1 << 40 })
		keys = slices.DeleteFunc(keys, func(key []string) bool { _, ok := limits[strings.Join(key, ".")]; return !ok })
		for _, key := range slices.Sorted(maps.Keys(limits)) {
			fmt.Fprintf(&out, "%s %s: %d to %d%s\n", name, key, limits[key][0], limits[key][1], units[key])
		}
		for i, step := range []int64{-1, 1} {
			beyond, said := refused(func(key string) int64 { return limits[key][i] + step })
			require.That(t, maps.Equal(beyond, limits), "%s: refused are %v, want %v; said is %q", name, beyond, limits, said)
			within, said := refused(func(key string) int64 { return limits[key][i] })
			require.That(t, len(within) == 0, "%s: refused are %v", name, within)
			fmt.Fprintf(&out, "%s\n%s\n", name, strings.TrimSuffix(strings.Join(said, ""), "\n"))
		}
	}
	require.Lines(t, "testdata/limits.txt", out.String(), *update)
}

// TestAlternatives reads what goes with none of the others.
func TestAlternatives(t *testing.T) {
	root := document(t, "testdata/rare")
	for key, value := range map[string]string{"cache.l3.inclusive": "", "cache.l3.exclusive": "true", "back_end.store_block": "", "back_end.store_word": "", "back_end.store_pairs": "true"} {
		change(t, root, strings.Split(key, "."), value)
	}
	var errs doc.Errors
	c := machines.Read(root, []*cpus.ISA{x86.ISA64()}, &errs).CPU
	require.That(t, errs.Err() == nil && c.L3.Exclusive && !c.L3.Inclusive && c.BackEnd.StorePairs && c.BackEnd.StoreBlock == 0, "%v, %+v, %+v", errs.Err(), c.L3, c.BackEnd)
}

// TestInherited tells figures of a description's base from its own, and from none.
func TestInherited(t *testing.T) {
	for _, x := range []struct {
		m    machines.Machine
		want bool
	}{{machines.Machine{File: "a"}, false}, {machines.Machine{File: "a", FiguresOf: "a"}, false}, {machines.Machine{File: "a", FiguresOf: "b"}, true}} {
		require.Equal(t, x.m.InheritsFigures(), x.want, "whether figures of %q are inherited by %q", x.m.FiguresOf, x.m.File)
	}
}

// TestKeysOfTests wants each key that a description may have in the descriptions of these tests, but for the alternatives and what
// others test.
func TestKeysOfTests(t *testing.T) {
	isas := instructionSets()
	b := require.Must(json.Marshal(doc.Describe(100, func(root *doc.Node, errs *doc.Errors) { machines.Read(root, isas, errs) })))(t)
	known := map[string]bool{}
	for _, m := range regexp.MustCompile(`"([a-z][a-z0-9_]*)":\{"`).FindAllSubmatch(b, -1) {
		known[string(m[1])] = true
	}
	require.Need(t, len(known) > 200, "%d keys: %s", len(known), b)
	for _, name := range []string{"testdata/rare", "power5-1656", "tc2-cortex-a15"} {
		for _, key := range allKeys(document(t, name)) {
			delete(known, key)
		}
	}
	for _, isa := range isas {
		for _, class := range isa.Classes {
			delete(known, class) // one is read as another
		}
	}
	require.Equal(t, fmt.Sprint(slices.Sorted(maps.Keys(known))), "[exclusive items measured properties store_pairs]", "keys without a test")
}

// allKeys returns the names of all keys of a document.
func allKeys(n *doc.Node) (all []string) {
	for _, f := range n.Fields {
		all = append(append(all, f.Key), allKeys(f.Value)...)
	}
	return all
}

// instructionSets returns the instruction sets of all targets.
func instructionSets() (all []*cpus.ISA) {
	for _, target := range targets.List() {
		all = append(all, target.ISA)
	}
	return all
}

// digits are numbers within what a check says.
var digits = regexp.MustCompile(`\d+`)

// TestNumbersOfKeys sets each number of a structure alone, to small numbers and to those around powers of two. The golden file has the
// numbers that are taken, and what is said of the first that is refused for another reason than the limits of its key: so it holds what
// a number has to be beside all the others.
func TestNumbersOfKeys(t *testing.T) {
	isas := instructionSets()
	values := []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 127, 128, 129, 256, 1024}
	var out strings.Builder
	for _, name := range []string{"testdata/rare", "power5-1656", "tc2-cortex-a15"} {
		root := document(t, name)
		for _, key := range leaves(nil, root) {
			n, unit := root.Find(key...), ""
			if _, ok := numberOf(n.Text); n.Kind == doc.String && ok {
				unit = " B"
			} else if n.Kind != doc.Integer {
				continue
			}
			if key[0] == "cost" || key[0] == "event" {
				continue
			}
			said := map[string]string{}
			for _, v := range values {
				changed := root.Clone()
				change(t, changed, key, fmt.Sprint(v, unit))
				var errs doc.Errors
				machines.Read(changed, isas, &errs)
				text := "fine"
				if err := errs.Err(); err != nil {
					text = strings.Split(err.Error(), "\n")[0]
				}
				kind := digits.ReplaceAllString(text, "N")
				if said[kind] == "" {
					said[kind] = text + ":"
				}
				said[kind] += fmt.Sprint(" ", v)
			}
			maps.DeleteFunc(said, func(_, line string) bool { return outside.MatchString(line) })
			for _, kind := range slices.Sorted(maps.Keys(said)) {
				if len(said) > 1 {
					fmt.Fprintf(&out, "%s %s: %s\n", name, strings.Join(key, "."), strings.TrimPrefix(said[kind], name+":1:1: "))
				}
			}
		}
	}
	require.Lines(t, "testdata/numbers.txt", out.String(), *update)
}
