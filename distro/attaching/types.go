package attaching

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cilium/ebpf/btf"
)

// errNoBTF says that a kernel has no types.
var errNoBTF = errors.New("the kernel has no BTF, by which programs name functions and tracepoints: it was built without CONFIG_DEBUG_INFO_BTF")

// Typed reports whether a kernel's BTF has a function, which trampolines need.
func Typed(raw []byte, function string) bool {
	_, err := (&Attachment{Way: Fentry, Target: function}).typeIn(raw)
	return err == nil
}

// typeIn is the number of the type of the target in the kernel's BTF: a function, or of a tracepoint the type of what is called
// for it.
func (a *Attachment) typeIn(raw []byte) (uint32, error) {
	if raw == nil {
		return 0, errNoBTF
	}
	spec, err := btf.LoadSpecFromReader(bytes.NewReader(raw))
	if err != nil {
		return 0, fmt.Errorf("the kernel's BTF: %w", err)
	}
	var found btf.Type
	if a.Way == BTFTracepoint {
		var t *btf.Typedef
		err = spec.TypeByName("btf_trace_"+event(a.Target), &t)
		found = t
	} else {
		var t *btf.Func
		err = spec.TypeByName(a.Target, &t)
		found = t
	}
	if err != nil {
		return 0, fmt.Errorf("%s: the kernel's BTF has no %s: %w", a.Way, a.Target, err)
	}
	id, err := spec.TypeID(found)
	return uint32(id), err
}
