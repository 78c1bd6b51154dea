package schema

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"strconv"
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
	return sha256.Sum256(appendValue(nil, reflect.ValueOf(struct {
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
	})))
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
	return sha256.Sum256(appendValue(nil, reflect.ValueOf(m.CPU)))
}

// appendValue appends a value so that no two values are written alike: fields with their names, lists with their
// lengths, maps in the order of their keys. It panics on a function or a channel, which has no content.
func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Struct:
		t := v.Type()
		for i := range v.NumField() {
			b = append(append(b, t.Field(i).Name...), '{')
			b = append(appendValue(b, v.Field(i)), '}')
		}
	case reflect.Slice, reflect.Array:
		b = append(strconv.AppendInt(b, int64(v.Len()), 10), '[')
		for i := range v.Len() {
			b = appendValue(b, v.Index(i))
		}
		b = append(b, ']')
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(x, y reflect.Value) int { return bytes.Compare(appendValue(nil, x), appendValue(nil, y)) })
		b = append(strconv.AppendInt(b, int64(len(keys)), 10), '(')
		for _, k := range keys {
			b = appendValue(appendValue(b, k), v.MapIndex(k))
		}
		b = append(b, ')')
	case reflect.Pointer, reflect.Interface:
		b = append(strconv.AppendBool(b, !v.IsNil()), '*')
		if !v.IsNil() {
			b = appendValue(b, v.Elem())
		}
	default:
		b = append(appendPlain(b, v), ',')
	}
	return b
}

// appendPlain appends a value that has no parts.
func appendPlain(b []byte, v reflect.Value) []byte {
	switch {
	case v.CanInt():
		return strconv.AppendInt(b, v.Int(), 10)
	case v.CanUint():
		return strconv.AppendUint(b, v.Uint(), 10)
	case v.CanFloat():
		return strconv.AppendFloat(b, v.Float(), 'x', -1, 64)
	case v.Kind() == reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case v.Kind() == reflect.String:
		return append(append(strconv.AppendInt(b, int64(v.Len()), 10), ':'), v.String()...)
	}
	panic(fmt.Sprintf("a %s is part of what a measurement follows from", v.Type()))
}
