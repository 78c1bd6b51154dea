package judging

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"

	"kprobesim/cpus"
	"kprobesim/internal/native"
)

// Case is a loop with cache misses, page walks or mispredictions, and a round's time on both sides.
type Case struct {
	Kind, Text     string
	Native, Priced float64 // cycles of a round
	Left           error   // why it has no native time

	loop   Loop
	pages  []uint64
	chains []native.Chain
	rounds int // of a copy
}

// Kinds of cases, in the order of the table.
const (
	kindChase    = "chain of loads"
	kindParallel = "loads side by side"
	kindStride   = "strides"
	kindStream   = "stores and copies"
	kindTLB      = "pages"
	kindBranch   = "branches"
	kindReturn   = "calls and returns"
	kindTarget   = "indirect jumps"
)

// Goal is the error of a case that is aimed at, as a share of the host's time.
const Goal = 0.15

// Hex reads code of this program in hexadecimal.
func Hex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err) // the code is ours
	}
	return b
}

// LoadPointer and SavePointer are the ways of a word of Pointers to and from a register below R8: mov with an absolute address.
func LoadPointer(register byte, n uint32) []byte {
	return Absolute([]byte{0x48, 0x8b, 0x04 | register<<3, 0x25}, Pointers+8*n)
}

// SavePointer is the other direction.
func SavePointer(register byte, n uint32) []byte {
	return Absolute([]byte{0x48, 0x89, 0x04 | register<<3, 0x25}, Pointers+8*n)
}

// StackPage is the page whose middle Nested puts the stack pointer at.
const StackPage = 0x1400_0000

// Chase is a loop that follows chains of loads side by side, up to four, each from where it was the last time.
func Chase(chains, copies, times int) Loop {
	l := Loop{Copies: copies, Times: times}
	for i, r := range []byte{7, 6, 3, 2}[:chains] {
		l.Before = append(l.Before, LoadPointer(r, uint32(i))...)
		l.Body = append(l.Body, 0x48, 0x8b, r<<3|r) // mov (r),r
		l.After = append(l.After, SavePointer(r, uint32(i))...)
	}
	return l
}

// Nested is a loop of calls n deep, so many bytes apart, and their returns.
func Nested(n, apart, copies, times int) Loop {
	first := max(apart, 10) // a call, and a jump that leads behind all of it
	code := append(Absolute([]byte{0xe8}, uint32(first-5)), 0xe9)
	code = Absolute(code, uint32(first-10+(n-1)*apart+1))
	code = append(code, make([]byte, first-10)...)
	for range n - 1 {
		code = append(Absolute(append(code, 0xe8), uint32(apart-5)), 0xc3) // call over a ret
		code = append(code, make([]byte, apart-6)...)
	}
	return Loop{Before: Absolute([]byte{0xbc}, StackPage+0x800), Body: append(code, 0xc3), Copies: copies, Times: times} // mov $,%esp
}

// Where the chains of a case begin, and how far one is from the next.
const (
	chainAt    = 0x1_0000_0000
	chainApart = 0x8000_0000
)

// Words of Pointers that keep the state of a case from run to run.
const (
	randomWord = 8
	placeWord  = 9
)

// kib and mib are units of sizes.
const (
	kib = 1 << 10
	mib = 1 << 20
)

// size is a number of bytes as text.
func size(n uint64) string {
	if n < mib {
		return fmt.Sprintf("%d KiB", n/kib)
	}
	return fmt.Sprintf("%d MiB", n/mib)
}

// caser makes the cases of a description.
type caser struct {
	rng  *rand.Rand
	seed uint64
	all  []*Case
}

// set is a working set.
type set struct {
	where string
	bytes uint64
}

// Cases makes the loops for a machine, whose caches and TLBs give the sizes of working sets. They are the same for the same seed.
func Cases(c *cpus.Config, seed uint64) []*Case {
	m := &caser{rng: rand.New(rand.NewPCG(seed, 26)), seed: seed}
	first, second, third := PowerOf2(c.L1D.Size), PowerOf2(c.L2.Size), PowerOf2(c.L3.Size)
	sets := []set{{"first level", first / 2}, {"second level", min(4*first, second/2)}}
	if third >= 4*second {
		sets = append(sets, set{"third level", min(4*second, third/2)})
	}
	sets = append(sets, set{"memory", min(max(64*mib, 4*second, 2*third), 256*mib)})
	m.chases(sets, second/2)
	behind := sets[2:]
	m.parallel(behind)
	m.strides(behind)
	m.streams(sets)
	m.tlbs(c)
	m.branches(sets[len(sets)-2])
	m.returns(min(c.Predictor.ReturnStack, 100)) // the stack of Nested is half a page
	m.targets()
	return m.all
}

// PowerOf2 is the greatest power of two up to a number of bytes.
func PowerOf2(n int) uint64 { return 1 << bits.Len(uint(n)) >> 1 }

// add adds a case with memory.
func (m *caser) add(kind, text string, l Loop, chains ...native.Chain) *Case {
	for i := range chains {
		chains[i].At, chains[i].Seed = chainAt+uint64(i)*chainApart, m.seed<<8+uint64(i)
	}
	c := &Case{Kind: kind, Text: text, loop: l, chains: chains, rounds: 1}
	m.all = append(m.all, c)
	return c
}

// lines is memory in large pages, each of whose lines has a link.
func lines(bytes uint64) native.Chain { return native.Chain{Size: bytes, Step: line, Large: true} }

// plain is lines without links but one in a page: a page that is never written is no memory of its own on the host.
func plain(bytes uint64) native.Chain { return native.Chain{Size: bytes, Step: pageSize, Large: true} }

// laps is how often copies are repeated, so that a run touches each line of a cached set. Memory is never the same twice.
func laps(bytes uint64, copies int) int {
	n := max(int(bytes/line), 20_000)
	if bytes > 16*mib {
		n = 6000
	}
	return n / copies
}

// chases follow one chain through each level, and through half of the second.
func (m *caser) chases(sets []set, half uint64) {
	for _, s := range append(slices.Clone(sets), set{"half of the second level", half}) {
		m.add(kindChase, size(s.bytes)+", "+s.where, Chase(1, 50, laps(s.bytes, 50)), lines(s.bytes))
	}
}

// random is code that draws a place of a line in RCX, by a linear congruential generator: imul $0x5851f42d,%rax,%rax;
// add $0x3039,%rax; mov %rax,%rcx; shr $24,%rcx; and $(bytes-line),%ecx.
func random(bytes uint64) []byte {
	return Absolute(Hex("4869c02df45158480539300000"+"4889c148c1e918"+"81e1"), uint32(bytes-line))
}

// drawn is a loop whose copies draw places of memory.
func drawn(bytes uint64, code string, copies int) Loop {
	return Loop{
		Before: append(LoadPointer(0, randomWord), LoadPointer(7, 0)...), Body: append(random(bytes), Hex(code)...), Copies: copies,
		Times: laps(bytes, copies), After: SavePointer(0, randomWord),
	}
}

// parallel has loads that do not wait for each other.
func (m *caser) parallel(sets []set) {
	for _, s := range sets {
		quarter := lines(s.bytes / 4)
		m.add(kindParallel, "4 chains, "+size(s.bytes)+" in all, "+s.where, Chase(4, 20, laps(s.bytes, 20)), quarter, quarter, quarter, quarter)
		m.add(kindParallel, "random places, "+size(s.bytes)+", "+s.where, drawn(s.bytes, "488b140f", 16), plain(s.bytes)) // mov (%rdi,%rcx),%rdx
	}
}

// walk is a loop through memory by a distance, from where it was the last time. RCX is the place and RDI the memory.
func walk(bytes, by uint64, code []byte) Loop {
	const copies = 8
	step := append(Absolute(Hex("4881c1"), uint32(by)), 0x81, 0xe1) // add $by,%rcx; and $(bytes-1),%ecx
	step = Absolute(step, uint32(bytes-1))
	return Loop{
		Before: append(LoadPointer(1, placeWord), LoadPointer(7, 0)...), Body: append(step, code...), Copies: copies,
		Times: laps(bytes, copies), After: SavePointer(1, placeWord),
	}
}

// strides walk by odd numbers of lines, so that all lines are touched before one is touched again.
func (m *caser) strides(sets []set) {
	for i, s := range sets {
		for _, n := range []uint64{1, 17, 65} {
			if n != 17 || i > 0 {
				m.stride(s, n, false)
			}
		}
	}
	m.stride(sets[len(sets)-1], 1, true)
}

// stride walks by so many lines. In series a load waits for the one before.
func (m *caser) stride(s set, n uint64, series bool) {
	code, how := Hex("488b040f"), "" // mov (%rdi,%rcx),%rax
	if series {
		code, how = append(code, Hex("83e0004801c1")...), ", each behind the other" // and $0,%eax; add %rax,%rcx
	}
	m.add(kindStride, fmt.Sprintf("%d B%s, %s, %s", n*line, how, size(s.bytes), s.where), walk(s.bytes, n*line, code), plain(s.bytes))
}

// stores stores so many words of a line: mov %rax,at(%rdi,%rcx).
func stores(words int) (code []byte) {
	for i := range words {
		code = append(code, 0x48, 0x89, 0x44, 0x0f, byte(8*i))
	}
	return code
}

// streams write lines, and copy them from one half of memory to the other.
func (m *caser) streams(sets []set) {
	for _, s := range sets {
		m.add(kindStream, "stores, "+size(s.bytes)+", "+s.where, walk(s.bytes, line, stores(line/8)), plain(s.bytes))
	}
	for _, s := range []set{sets[1], sets[len(sets)-1]} {
		copies := Absolute(Hex("488db7"), uint32(s.bytes/2)) // lea half(%rdi),%rsi
		for at := byte(0); at < line; at += 8 {
			copies = append(copies, 0x48, 0x8b, 0x44, 0x0f, at, 0x48, 0x89, 0x44, 0x0e, at)
		}
		m.add(kindStream, "copies, "+size(s.bytes)+", "+s.where, walk(s.bytes/2, line, copies), plain(s.bytes))
	}
}

// tlbs follow chains of one line in each page of 4 KiB. Eight pages in a row have theirs in the same place, so that few of them
// share a set of the second level where the pages are in order, as they are here.
func (m *caser) tlbs(c *cpus.Config) {
	first, second := min(c.DTLB.Entries, 512), min(c.TLB2.Entries, 4096) // the memory of a case is bounded
	for _, n := range []int{2 * first, max(8*first, second/2), max(16*first, 2*second)} {
		m.add(kindTLB, fmt.Sprintf("%d of 4 KiB; first TLB %d, second %d", n, first, second), Chase(1, 50, laps(0, 50)),
			native.Chain{Size: uint64(n) * pageSize, Step: pageSize, Skew: 8})
	}
}

// table is memory with numbers below n in bytes, by turns or drawn.
func (m *caser) table(length, n int, turns bool) native.Chain {
	data := make([]byte, length)
	for i := range data {
		if data[i] = byte(i % n); !turns {
			data[i] = byte(m.rng.IntN(n))
		}
	}
	return native.Chain{Size: uint64(max(length, pageSize)), Data: data}
}

// within is a loop of a body's own, so many rounds for each repetition, whose count is in a register: the count of a Loop is in
// memory and takes some cycles.
func within(l Loop, body []byte) Loop {
	a := &assembler{}
	a.word([]byte{0xbd}, inner) // mov $inner,%ebp
	a.Write(bytes.Repeat([]byte{0x90}, line-a.Len()))
	l.Each, l.Copies, l.Times = a.Bytes(), 1, 16
	l.Body = append(slices.Clone(body), 0x83, 0xed, 1, 0x0f, 0x85) // sub $1,%ebp; jnz
	l.Body = Absolute(l.Body, uint32(-len(l.Body)-4))
	return l
}

// inner is how often a loop within a body goes round.
const inner = 4000

// branches follow tables of random bits, and a bit of a random place of memory.
func (m *caser) branches(s set) {
	heavy := strings.Repeat("480fafd6", 6) // imul %rsi,%rdx
	for _, x := range []struct {
		length     int
		more, text string
	}{{32, "", ""}, {1024, "", ""}, {1024, heavy, ", 6 multiplications"}, {65536, "", ""}, {65536, heavy, ", 6 multiplications"}} {
		m.bits(fmt.Sprintf("%d random bits%s", x.length, x.text), m.table(x.length, 2, false), x.more)
	}
	m.add(kindBranch, "a bit of random places, "+size(s.bytes)+", "+s.where, drawn(s.bytes, "f6040f40"+"7403"+"4801c3", 16), lines(s.bytes)) // testb $0x40,(%rdi,%rcx)
}

// bits follow a table of bits, with more code behind each branch.
func (m *caser) bits(text string, table native.Chain, more string) {
	l := walk(uint64(len(table.Data)), 1, Hex("803c0f00"+"7403"+"4801c3"+more)) // cmpb $0,(%rdi,%rcx); je over; add %rax,%rbx
	m.add(kindBranch, text, within(l, l.Body), table).rounds = inner
}

// returns are calls less deep than the return stack, and deeper: apart, and many in a line.
func (m *caser) returns(stack int) {
	for _, apart := range []int{16, 6} {
		for _, n := range []int{stack / 2, stack + stack/2} {
			text := fmt.Sprintf("%d deep, %d B apart, a return stack of %d", n, apart, stack)
			m.add(kindReturn, text, Nested(n, apart, 2, 500)).pages = []uint64{StackPage}
		}
	}
}

// targets jump by a table.
func (m *caser) targets() {
	for _, x := range []struct {
		n     int
		turns bool
	}{{1, true}, {8, true}, {64, true}, {2, false}, {8, false}, {64, false}} {
		text, length := fmt.Sprintf("%d targets by turns", x.n), x.n
		if !x.turns {
			text, length = fmt.Sprintf("%d targets at random", x.n), 65536
		}
		l := walk(uint64(length), 1, nil)
		m.add(kindTarget, text, within(l, jumps(l.Body, x.n)), m.table(length, x.n, x.turns)).rounds = inner
	}
}

// apart is the bytes from one target to the next.
const apart = 16

// jumps appends movzbl (%rdi,%rcx),%eax; shl $4,%eax; lea targets(%rip),%rdx; add %rdx,%rax; jmp *%rax and so many targets, each of
// them add $1,%rbx and a jump behind all of them. A body begins at a line.
func jumps(code []byte, n int) []byte {
	code = append(code, Hex("0fb6040fc1e004488d15")...)
	rest := Hex("4801d0ffe0")
	pad := -(len(code) + 4 + len(rest)) & (line - 1)
	code = Absolute(code, uint32(len(rest)+pad))
	code = append(append(code, rest...), make([]byte, pad)...)
	for i := range n {
		code = Absolute(append(code, 0x48, 0x83, 0xc3, 1, 0xe9), uint32((n-i)*apart-9))
		code = append(code, make([]byte, apart-9)...)
	}
	return code
}
