package schema

import (
	"crypto/sha256"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"

	"kprobesim/machines"
)

// Key is the hash of everything that the measurement of a point follows from: the program, the costs of the machine,
// the kernel's image, the modules, and what the experiment says of the point after all settings. Names, titles and
// published figures are left out, as they change no measurement. The program is whatever names the one that runs.
func (p *Point) Key(program string) [sha256.Size]byte {
	return p.key(program, machineKey(p.Machine))
}

func (p *Point) key(program string, machine [sha256.Size]byte) [sha256.Size]byte {
	probe := p.Probe
	probe.Name, probe.Title, probe.Published, probe.Role = "", "", nil, ""
	type module struct{ Hash, Parameters, Load string }
	modules := make([]module, len(p.Modules))
	for i, m := range p.Modules {
		modules[i] = module{m.Hash, m.Parameters, m.Load}
	}
	kernel := p.Kernel
	kernel.Image = p.Image.Hash
	h := sha256.New()
	writeValue(h, reflect.ValueOf(struct {
		Program, Kind, Target string
		CPU                   [sha256.Size]byte
		TimerHz               int64
		Kernel                Kernel
		Linux                 linuxKey
		Workload              Workload
		Crowd                 Crowd
		Modules               []module
		Writes                []Write
		Probe                 Probe
		Seed                  uint64
		Replicate             int
		Further               bool
		Budget                int64
	}{
		program, p.Kind, p.Target.Name, machine, p.Machine.TimerHz, kernel, p.Linux.key(), p.Workload, p.Crowd, modules, p.Writes, probe,
		p.Seed, p.Replicate, p.Further, p.Budget,
	}))
	return [sha256.Size]byte(h.Sum(nil))
}

// Keys makes the keys of many points. It hashes each machine once, which takes longer than all else of a point.
type Keys struct {
	Program string

	machines sync.Map // hashes by *machines.Machine, which does not change
}

// Of returns the key of a point.
func (k *Keys) Of(p *Point) [sha256.Size]byte {
	machine, ok := k.machines.Load(p.Machine)
	if !ok {
		machine = machineKey(p.Machine)
		k.machines.Store(p.Machine, machine)
	}
	return p.key(k.Program, machine.([sha256.Size]byte))
}

// machineKey is the hash of all costs of a machine.
func machineKey(m *machines.Machine) [sha256.Size]byte {
	h := sha256.New()
	writeValue(h, reflect.ValueOf(m.CPU))
	return [sha256.Size]byte(h.Sum(nil))
}

// writeValue writes a value so that no two values are written alike: fields with their names, lists with their
// lengths, maps in the order of their keys. It panics on a function or a channel, which has no content.
func writeValue(w io.Writer, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fmt.Fprintf(w, "%s{", v.Type().Field(i).Name)
			writeValue(w, v.Field(i))
			fmt.Fprint(w, "}")
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(w, "%d[", v.Len())
		for i := range v.Len() {
			writeValue(w, v.Index(i))
		}
		fmt.Fprint(w, "]")
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(written(a), written(b)) })
		fmt.Fprintf(w, "%d(", len(keys))
		for _, k := range keys {
			writeValue(w, k)
			writeValue(w, v.MapIndex(k))
		}
		fmt.Fprint(w, ")")
	case reflect.Pointer, reflect.Interface:
		fmt.Fprintf(w, "%t*", !v.IsNil())
		if !v.IsNil() {
			writeValue(w, v.Elem())
		}
	default:
		writePlain(w, v)
	}
}

// writePlain writes a value that has no parts.
func writePlain(w io.Writer, v reflect.Value) {
	switch {
	case v.CanInt():
		fmt.Fprintf(w, "%d,", v.Int())
	case v.CanUint():
		fmt.Fprintf(w, "%d,", v.Uint())
	case v.CanFloat():
		fmt.Fprintf(w, "%x,", v.Float())
	case v.Kind() == reflect.Bool:
		fmt.Fprintf(w, "%t,", v.Bool())
	case v.Kind() == reflect.String:
		fmt.Fprintf(w, "%d:%s,", v.Len(), v.String())
	default:
		panic(fmt.Sprintf("a %s is part of what a measurement follows from", v.Type()))
	}
}

// written returns the text of writeValue, by which keys of any type have an order.
func written(v reflect.Value) string {
	var b strings.Builder
	writeValue(&b, v)
	return b.String()
}
