package linux

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"kprobesim/image"
)

// kallsyms is the kernel's table of symbols, in its read-only data. Each name is a byte of length, two from 128
// on, and as many tokens; a token is a string, and the first letter of the name is the symbol's type as nm
// prints it. Its parts lie in this order, each aligned to a word, or to four bytes in 7.2:
//
//	distances of the addresses  int32 each          behind the token index from 6.4 on; in 7.2 from their own places
//	base of the distances       word                behind the distances; none in 7.2
//	number of symbols           uint32
//	names
//	markers                     uint32: where every 256th name begins
//	tokens                      256 strings
//	token index                 uint16: where every token begins
type kallsyms struct {
	b      []byte // the section
	lo     uint64 // where it begins
	word   int
	align  int
	tokens [tokenCount]string
	first  int // of the token table
	end    int // of the token index
	number int // where the number of symbols stands
	names  int // where they begin
	count  int // of symbols
	marks  int // where the markers begin
	steps  int // that searching may still take
}

const (
	tokenCount = 256
	perMarker  = 256
	minSymbols = 256     // fewer cannot be told from chance
	maxSymbols = 4 << 20 // a kernel has about 150,000
	maxSteps   = 1 << 26
)

// symbols decodes kallsyms from the read-only data of an image.
func symbols(im *image.Image) ([]image.Symbol, error) {
	lo, size, ok := im.Section(".rodata")
	if !ok {
		lo, size, ok = im.Section(wrapped)
	}
	if !ok {
		return nil, errors.New("has no section .rodata: name a kernel as packaged, not one that was stripped of its sections")
	}
	b := im.Bytes(lo, size)
	if b == nil {
		return nil, errors.New("has a section .rodata outside its segments: copy it again")
	}
	k := &kallsyms{b: b, lo: lo, word: im.Bits / 8}
	if !k.findTokens() || !k.findNames(k.word) && !k.findNames(4) {
		return nil, errors.New("has no kallsyms tables of a known layout: kernels from 4.6 on with CONFIG_KALLSYMS are read")
	}
	at, err := k.addresses(im)
	if err != nil {
		return nil, err
	}
	return k.build(im, at), nil
}

func (k *kallsyms) u16(at int) int { return int(binary.LittleEndian.Uint16(k.b[at:])) }
func (k *kallsyms) u32(at int) int { return int(binary.LittleEndian.Uint32(k.b[at:])) }

// up rounds up to the alignment of the parts.
func (k *kallsyms) up(at int) int { return (at + k.align - 1) &^ (k.align - 1) }

// findTokens looks for 256 ascending numbers with 256 strings before them that begin where they say.
func (k *kallsyms) findTokens() bool {
	const size = 2 * tokenCount
	for at := 0; at+size <= len(k.b); at += 4 {
		if k.u16(at) != 0 || !k.ascending(at) {
			continue
		}
		last := bytes.LastIndexByte(bytes.TrimRight(k.b[:at], "\x00"), 0) + 1 // where the last string begins
		if start := last - k.u16(at+size-2); start >= 0 && k.takeTokens(start, at) {
			k.first, k.end = start, at+size
			return true
		}
	}
	return false
}

// ascending reports whether the index at a place could be that of tokens.
func (k *kallsyms) ascending(at int) bool {
	for i := 1; i < tokenCount; i++ {
		if k.u16(at+2*i) <= k.u16(at+2*i-2) {
			return false
		}
	}
	return true
}

// takeTokens takes the tokens between start and their index, if each ends where the next one begins.
func (k *kallsyms) takeTokens(start, index int) bool {
	for i := range tokenCount {
		from := start + k.u16(index+2*i)
		to := index
		if i+1 < tokenCount {
			to = start + k.u16(index+2*i+2)
		}
		end := slices.Index(k.b[from:to], 0)
		if end < 1 || i+1 < tokenCount && from+end+1 != to {
			return false
		}
		k.tokens[i] = string(k.b[from : from+end])
	}
	return true
}

// findNames looks for the number of symbols before the tokens: as many names follow it, and behind them the
// markers say where every 256th of them begins.
func (k *kallsyms) findNames(align int) bool {
	k.align, k.steps = align, maxSteps
	for at := 0; at+4 <= k.first && k.steps > 0; at += 4 {
		n := k.u32(at)
		if n < minSymbols || n > maxSymbols || n*2 > k.first-at {
			continue
		}
		names := k.up(at + 4)
		if k.check(names, n) {
			k.number, k.names, k.count = at, names, n
			return true
		}
	}
	return false
}

// check walks n names from a place on and compares the markers behind them.
func (k *kallsyms) check(names, n int) bool {
	at, marks := names, make([]int, 0, 16)
	for i := range n {
		if i%perMarker == 0 {
			marks = append(marks, at-names)
		}
		size, next, ok := k.length(at)
		k.steps--
		if !ok || size == 0 || next+size > k.first || k.steps < 0 {
			return false
		}
		at = next + size
	}
	k.marks = k.up(at)
	if k.marks+4*len(marks) > k.first {
		return false
	}
	for i, m := range marks {
		if k.u32(k.marks+4*i) != m {
			return false
		}
	}
	return true
}

// length reads how many tokens a name has.
func (k *kallsyms) length(at int) (n, next int, ok bool) {
	if at+1 >= k.first {
		return 0, 0, false
	}
	n = int(k.b[at])
	if n < 0x80 {
		return n, at + 1, true
	}
	return n&0x7f | int(k.b[at+1])<<7, at + 2, true
}

// addresses decodes the addresses of the symbols, from before the names or from behind the tokens. Addresses in the right
// layout are in order and lie in the kernel.
func (k *kallsyms) addresses(im *image.Image) ([]uint64, error) {
	before := k.number - k.word // the base stands directly before the number of symbols
	after := k.up(k.end)
	for _, p := range [...]struct {
		distances, end int
		decode         func(distances int) []uint64
	}{
		{(before - 4*k.count) &^ (k.align - 1), before + k.word, k.decode},
		{after, k.up(after+4*k.count) + k.word, k.decode},
		{k.end, k.end + 4*k.count, k.fromPlaces},
	} {
		if p.distances < 0 || p.end > len(k.b) {
			continue
		}
		if at := p.decode(p.distances); slices.IsSorted(at) && im.SectionAt(at[len(at)/2]) != "" {
			return at, nil
		}
	}
	return nil, errors.New("has kallsyms names without addresses of a known layout: kernels with CONFIG_KALLSYMS_BASE_RELATIVE are read")
}

// fromPlaces makes addresses of distances from where each of them stands.
func (k *kallsyms) fromPlaces(distances int) []uint64 {
	out := make([]uint64, k.count)
	for i := range out {
		at := distances + 4*i
		out[i] = k.lo + uint64(at) + uint64(int64(int32(k.u32(at))))
	}
	return out
}

// decode makes addresses of distances and the base behind them. Where one is negative, those that are not are addresses themselves, of
// per-CPU data, and the negative ones count from the base downwards from -1 on.
func (k *kallsyms) decode(distances int) []uint64 {
	base := k.up(distances + 4*k.count)
	from := uint64(k.u32(base))
	if k.word == 8 {
		from = binary.LittleEndian.Uint64(k.b[base:])
	}
	out := make([]uint64, k.count)
	signed := false
	for i := range out {
		signed = signed || int32(k.u32(distances+4*i)) < 0
	}
	for i := range out {
		d := int32(k.u32(distances + 4*i))
		switch {
		case !signed || k.word == 4:
			out[i] = from + uint64(uint32(d))
		case d >= 0:
			out[i] = uint64(d)
		default:
			out[i] = from - 1 - uint64(int64(d))
		}
		if k.word == 4 {
			out[i] &= 1<<32 - 1
		}
	}
	return out
}

// build names the addresses. A symbol reaches to the next address of its section: kallsyms has no sizes.
func (k *kallsyms) build(im *image.Image, at []uint64) []image.Symbol {
	out := make([]image.Symbol, 0, k.count)
	next := k.names
	var name []byte
	for _, addr := range at {
		n, from, _ := k.length(next)
		next = from + n
		name = name[:0]
		for _, t := range k.b[from:next] {
			name = append(name, k.tokens[t]...)
		}
		if len(name) < 2 {
			continue
		}
		kind := name[0]
		code := kind == 't' || kind == 'T' || kind == 'w' || kind == 'W'
		global := kind >= 'A' && kind <= 'Z'
		out = append(out, image.NewSymbol(string(name[1:]), addr, 0, code, global, im.SectionAt(addr)))
	}
	slices.SortStableFunc(out, func(a, b image.Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
	return out
}
