package probing

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	x86rules "kprobesim/kprobes/x86"
)

// Resolve finds SYMBOL, SYMBOL+OFFSET or an address in hexadecimal. Numbers are as in C.
func (k *Kernel) Resolve(place string) (uint64, error) {
	if strings.HasPrefix(place, "0x") {
		at, err := strconv.ParseUint(place, 0, 64)
		if err != nil {
			return 0, fmt.Errorf("place %q: write an address as 0xffffffff81000000", place)
		}
		return k.Entry(at), nil
	}
	name, offset, found := strings.Cut(place, "+")
	s, ok := k.image.Symbol(name)
	if !ok {
		return 0, fmt.Errorf("place %q: the kernel has no symbol %s: its names are those of /proc/kallsyms", place, name)
	}
	if !found {
		return k.Entry(s.Addr), nil
	}
	off, err := strconv.ParseUint(offset, 0, 32)
	if err != nil {
		return 0, fmt.Errorf("place %q: write the offset as a number, such as %s+0x10", place, name)
	}
	if fn, _, ok := k.function(s.Addr); ok && off >= uint64(len(fn.Code)) {
		return 0, fmt.Errorf("place %q: %s is %#x bytes long: write an offset in it, or an address for another function", place, name, len(fn.Code))
	}
	return k.Entry(s.Addr + off), nil
}

// Code returns the bytes of the longest instruction at an address, fewer at the end of its function.
func (k *Kernel) Code(at uint64) []byte {
	const longest = 15
	fn, off, ok := k.function(at)
	if !ok {
		return nil
	}
	return fn.Code[off:min(off+longest, uint64(len(fn.Code)))]
}

// Starts lists where the instructions of the function around an address begin, up to one that cannot be read. The mark at its
// start is left out: a probe there is one at the next instruction.
func (k *Kernel) Starts(at uint64) []uint64 {
	fn, _, ok := k.function(at)
	if !ok {
		return nil
	}
	starts := k.rules.Starts(fn)
	if len(starts) > 0 && k.Entry(starts[0]) != starts[0] {
		return starts[1:]
	}
	return starts
}

// Random returns the address of an instruction of the kernel's text by numbers that next gives: a function, and
// one of its instructions. One place in sixteen is any byte of it. A kernel whose text cannot be read has the start
// of a function only.
func (k *Kernel) Random(next func() uint64) uint64 {
	for range tries {
		fn, _, ok := k.function(k.functions[next()%uint64(len(k.functions))])
		starts := k.rules.Starts(fn)
		if !ok || len(starts) == 0 {
			continue
		}
		if next()%16 == 0 {
			return k.Entry(fn.Start + next()%uint64(len(fn.Code)))
		}
		return k.Entry(starts[next()%uint64(len(starts))])
	}
	return k.functions[0]
}

// tries bounds the search for a function with instructions. Of a kernel nearly all have some.
const tries = 1000

// Every calls f with the verdict on each instruction of each function of the text, in the order of addresses, until f fails.
// Left out are parts of the text that cannot be read as instructions, such as tables in it, and the traps behind a function's
// last instruction: half of the places would be padding.
func (k *Kernel) Every(f func(Verdict) error) error {
	quick := k.remembering()
	return quick.places(func(at uint64) error { return f(quick.At(at)) })
}

// All are the addresses of Every.
func (k *Kernel) All() (out []uint64) {
	_ = k.remembering().places(func(at uint64) error { // which fails where this function does
		out = append(out, at)
		return nil
	})
	return out
}

// remembering is the kernel for questions about neighbours, one after the other.
func (k *Kernel) remembering() *Kernel {
	quick := *k
	if r, ok := k.rules.(x86rules.Packaged); ok {
		quick.rules = r.Remembering()
	}
	quick.text = remembering(k.text)
	return &quick
}

// places calls f with the addresses of Every.
func (k *Kernel) places(f func(at uint64) error) error {
	fill := []byte(k.arch.fill)
	for _, at := range slices.Compact(slices.Sorted(slices.Values(k.functions))) { // some have two names
		fn, _, _ := k.function(at)
		end := fn.End()
		for bytes.HasSuffix(fn.Code[:end-fn.Start], fill) {
			end -= uint64(len(fill))
		}
		for _, at := range k.Starts(at) {
			if at >= end {
				break
			}
			if err := f(at); err != nil {
				return err
			}
		}
	}
	return nil
}

// remembering reads what was asked for last no second time: text does not change meanwhile.
func remembering(text func(va uint64, n int) []byte) func(va uint64, n int) []byte {
	var at uint64
	var size int
	var code []byte
	return func(va uint64, n int) []byte {
		if n < maxShort {
			return text(va, n)
		}
		if va != at || n != size {
			at, size, code = va, n, text(va, n)
		}
		return code
	}
}

// maxShort is more than what is looked at of a place: the other reads are of functions.
const maxShort = 16
