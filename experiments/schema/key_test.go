package schema

import (
	"crypto/sha256"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/machines"
	"kprobesim/targets"
)

// filled makes a value in which every list and map has something, and no pointer is nil.
func filled(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				filled(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		filled(v.Index(0))
	case reflect.Map:
		key := reflect.New(v.Type().Key()).Elem()
		filled(key)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, reflect.New(v.Type().Elem()).Elem())
	case reflect.String:
		v.SetString("x")
	}
}

// changes calls f for each change of a part of a value, while it is changed: a number is one more, a text longer, a switch turned, a list
// longer or shorter, and a pointer nil.
func changes(v reflect.Value, path string, f func(path string)) {
	one := func(what string, to reflect.Value) {
		was := reflect.New(v.Type()).Elem()
		was.Set(v)
		v.Set(to)
		f(path + what)
		v.Set(was)
	}
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				changes(v.Field(i), strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."), f)
			}
		}
	case v.Kind() == reflect.Pointer && v.IsNil(), v.Kind() == reflect.Slice && v.Len() == 0:
		// it leads elsewhere
	case v.Kind() == reflect.Pointer:
		one(" = nil", reflect.Zero(v.Type()))
		changes(v.Elem(), path, f)
	case v.Kind() == reflect.Slice:
		one(" of 2", reflect.AppendSlice(v, v))
		one(" of 0", v.Slice(0, 0))
		changes(v.Index(0), path, f)
	case v.Kind() == reflect.Map:
		one(" of 0", reflect.Zero(v.Type()))
	case v.CanInt():
		one("", reflect.ValueOf(v.Int()+1).Convert(v.Type()))
	case v.CanUint():
		one("", reflect.ValueOf(v.Uint()+1).Convert(v.Type()))
	case v.CanFloat():
		one("", reflect.ValueOf(v.Float()+1).Convert(v.Type()))
	case v.Kind() == reflect.Bool:
		one("", reflect.ValueOf(!v.Bool()).Convert(v.Type()))
	case v.Kind() == reflect.String:
		one("", reflect.ValueOf(v.String()+"y").Convert(v.Type()))
	}
}

// noKey are the parts of a point that change no measurement, or follow from others: root and disk of a program are in the hash of its
// archive, and the code of a module in that of its file.
const noKey = `Experiment Kernel.Image Label Linux.CPUs Linux.Headers Linux.Module Linux.Path Linux.TreePath Linux.Working.Archive
	Linux.Working.Disk.At Linux.Working.Disk.Image Linux.Working.Disk.Modules Linux.Working.Disk.Modules.File Linux.Working.Disk.Modules.Hits
	Linux.Working.Disk.Modules.Params Linux.Working.Disk.Modules.Path Linux.Working.Disk.Path Linux.Working.Disk.Type Linux.Working.Input
	Linux.Working.Only Linux.Working.Root Machine.Experiment Machine.FiguresOf Machine.File Machine.ISA Machine.Measured Machine.Name Machine.Sources
	Machine.Title Modules.File Modules.File.Name Modules.File.Object Modules.File.Object.Bits Modules.File.Object.Info Modules.File.Object.Machine
	Modules.File.Object.Name Modules.Path Name Probe.Name Probe.Published Probe.Published.Repeats.Source Probe.Published.Source Probe.Role Probe.Title
	Target.Usual`

// TestKeyHasAll changes each part of a point. The points then have keys of their own, but for the parts that change no measurement.
func TestKeyHasAll(t *testing.T) {
	p := &Point{Target: &targets.Target{Name: "x"}, Machine: &machines.Machine{}, Image: &Image{Hash: "x"}, Linux: &Linux{Command: "x", Working: &Working{}}}
	for _, part := range []any{&p.Kernel, p.Linux.Working, &p.Workload, &p.Crowd, &p.Modules, &p.Writes, &p.Probe, &p.Machine.CPU} {
		filled(reflect.ValueOf(part).Elem())
	}
	keys := Keys{Program: "x"}
	plain, none := keys.Of(p), []string{}
	require.Equal(t, plain, p.Key("x"), "the key of a point among others")
	seen := map[[sha256.Size]byte]string{plain: "", p.Key("y"): "another program"}
	changes(reflect.ValueOf(p).Elem(), "", func(path string) {
		if p.Target == nil || p.Image == nil || p.Machine == nil {
			return // no plan has such a point
		}
		key := p.Key("x")
		switch was, ok := seen[key]; {
		case was != "":
			t.Errorf("%s has the key of %s", path, was)
		case ok:
			part, _, _ := strings.Cut(path, " ")
			none = append(none, part)
		default:
			seen[key] = path
		}
	})
	slices.Sort(none)
	require.Equal(t, strings.Join(slices.Compact(none), " "), strings.Join(strings.Fields(noKey), " "), "what changes no key")
}

// TestNumbersAreWhole wants numbers that differ in their last digit to be told apart.
func TestNumbersAreWhole(t *testing.T) {
	for _, x := range [][2]any{
		{1.1, math.Nextafter(1.1, 2)}, {int64(math.MinInt64), int64(math.MinInt64 + 1)}, {uint64(math.MaxUint64), uint64(math.MaxUint64 - 1)}, {"a1", "a2"}, {true, false},
	} {
		a, b := appendPlain(nil, reflect.ValueOf(x[0])), appendPlain(nil, reflect.ValueOf(x[1]))
		require.That(t, string(a) != string(b), "%v and %v are %s", x[0], x[1], a)
	}
}
