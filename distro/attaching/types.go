package attaching

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// errNoBTF says that a kernel has no types.
var errNoBTF = errors.New("the kernel has no BTF, by which programs name functions, tracepoints and fields: it was built without CONFIG_DEBUG_INFO_BTF")

// kernelTypes are the kernel's types, which are read when somebody asks for them.
type kernelTypes struct {
	raw  []byte // nil where it has none
	spec *btf.Spec
}

// read reads the types.
func (k *kernelTypes) read() (_ *btf.Spec, err error) {
	switch {
	case k.raw == nil:
		return nil, errNoBTF
	case k.spec == nil:
		if k.spec, err = btf.LoadSpecFromReader(bytes.NewReader(k.raw)); err != nil {
			return nil, fmt.Errorf("the kernel's BTF: %w", err)
		}
	}
	return k.spec, nil
}

// Offsets returns where members of a structure lie in a kernel's memory, in bytes.
func Offsets(raw []byte, structure string, members ...string) ([]uint64, error) {
	spec, err := (&kernelTypes{raw: raw}).read()
	if err != nil {
		return nil, err
	}
	var s *btf.Struct
	if err := spec.TypeByName(structure, &s); err != nil {
		return nil, fmt.Errorf("the kernel's BTF has no structure %s: %w", structure, err)
	}
	out := make([]uint64, len(members))
	for i, name := range members {
		at := slices.IndexFunc(s.Members, func(m btf.Member) bool { return m.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("the kernel's structure %s has no member %s", structure, name)
		}
		out[i] = uint64(s.Members[at].Offset.Bytes())
	}
	return out, nil
}

// Typed reports whether a kernel's BTF has a function, which trampolines need.
func Typed(raw []byte, function string) bool {
	_, err := (&kernelTypes{raw: raw}).number(Fentry, function)
	return err == nil
}

// number is that of a target's type in the kernel's BTF: a function, or of a tracepoint the type of what is called for it.
func (k *kernelTypes) number(way, target string) (uint32, error) {
	spec, err := k.read()
	if err != nil {
		return 0, err
	}
	var found btf.Type
	if way == BTFTracepoint {
		var t *btf.Typedef
		err = spec.TypeByName("btf_trace_"+event(target), &t)
		found = t
	} else {
		var t *btf.Func
		err = spec.TypeByName(target, &t)
		found = t
	}
	if err != nil {
		return 0, fmt.Errorf("%s: the kernel's BTF has no %s: %w", way, target, err)
	}
	id, err := spec.TypeID(found)
	return uint32(id), err
}

// relocate puts the kernel's own offsets and sizes of fields into instructions that name them (CO-RE). What a program names of its
// own types goes to its builder.
func (l *loader) relocate(code asm.Instructions, own *btf.Builder) (lacks lacking, err error) {
	var what []*btf.CORERelocation
	var where []*asm.Instruction
	for i := range code {
		if r := btf.CORERelocationMetadata(&code[i]); r != nil {
			what, where = append(what, r), append(where, &code[i])
		}
	}
	if len(what) == 0 {
		return nil, nil
	}
	kernel, err := l.types.read()
	if err != nil {
		return nil, err
	}
	fixups, err := btf.CORERelocate(what, []*btf.Spec{kernel}, binary.LittleEndian, own.Add)
	if err != nil {
		return nil, fmt.Errorf("the kernel's types: %w", err)
	}
	for i, f := range fixups {
		if err := f.Apply(where[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", what[i], err)
		}
		if text := what[i].String(); where[i].Constant == btf.COREBadRelocationSentinel && !slices.Contains(lacks, text) {
			lacks = append(lacks, text)
		}
	}
	return lacks, nil
}

// lacking lists fields that a program reads and the kernel has not. The instruction that reads it is replaced by one that no kernel takes. A
// program that asks first does not come to it.
type lacking []string

// explain says so where it is why the verifier refuses the program.
func (l lacking) explain(err error) error {
	var refused *Refused
	if len(l) == 0 || !errors.As(err, &refused) || !strings.Contains(refused.Log, fmt.Sprint(btf.COREBadRelocationSentinel)) {
		return err
	}
	return fmt.Errorf("the kernel's types lack what the program reads (%s): %w", strings.Join(l, "; "), err)
}
