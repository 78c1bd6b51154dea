package cpustest

import (
	"encoding/binary"
	"math/rand/v2"

	"kprobesim/mmu"
)

// NewWords returns a program without instructions.
func NewWords(r *rand.Rand, order binary.ByteOrder) Words {
	return Words{Rand: r, order: order, table: map[uint64]int{}}
}

// Words is a random program of an instruction set with instructions of four bytes. It is made of gadgets, of which any may be
// jumped to. Some words of it may become others.
type Words struct {
	*rand.Rand
	Code  []uint32
	Begun []int // where gadgets begin
	order binary.ByteOrder
	sites []wordSite
	holes []hole
	table map[uint64]int // constants by their places
}

// wordSite is a place in the code with words that it may have.
type wordSite struct {
	at   int
	have []uint32
}

// hole is where a store into code is to know what it stores where.
type hole struct {
	at   int
	fill func(code []uint32, to int, word uint32)
}

// Fill adds gadgets until there are so many words.
func (w *Words) Fill(words int, gadget func()) {
	for len(w.Code) < words {
		w.Begun = append(w.Begun, len(w.Code))
		gadget()
	}
}

// Constant returns the place of a number in a table, which has each once and room for so many.
func (w *Words) Constant(v uint64, room int) int {
	at, ok := w.table[v]
	if !ok {
		at = len(w.table)
		w.table[v] = at
	}
	if at == room {
		panic("cpustest: too many constants")
	}
	return at
}

// Add adds instructions.
func (w *Words) Add(code ...uint32) { w.Code = append(w.Code, code...) }

// Site adds an instruction that may become others.
func (w *Words) Site(have ...uint32) {
	w.sites = append(w.sites, wordSite{len(w.Code), have})
	w.Add(have[0])
}

// Patch adds instructions that store a word into code. Fill completes them, when all is known, by the place of the word from the
// beginning of the code, in bytes.
func (w *Words) Patch(code []uint32, fill func(code []uint32, to int, word uint32)) {
	w.holes = append(w.holes, hole{len(w.Code), fill})
	w.Add(code...)
}

// Behind is the place of a gadget before the present one, as the distance in bytes from the next instruction to be added.
func (w *Words) Behind() int {
	return 4 * (w.Begun[max(0, len(w.Begun)-1-w.IntN(12))] - len(w.Code))
}

// Some is the address of a gadget, where code begins at another.
func (w *Words) Some(code uint64) uint64 { return code + 4*uint64(w.Begun[w.IntN(len(w.Begun))]) }

// finish completes the stores. Half of them hit what comes soon behind them.
func (w *Words) finish() {
	for _, h := range w.holes {
		near := w.sites[:0:0]
		for _, s := range w.sites {
			if d := s.at - h.at; d > 0 && d < 24 {
				near = append(near, s)
			}
		}
		if len(near) == 0 || w.IntN(2) == 0 {
			near = w.sites
		}
		s := near[w.IntN(len(near))]
		h.fill(w.Code[h.at:], 4*s.at, s.have[w.IntN(len(s.have))])
	}
}

// Write completes the code and puts copies of it into memory, whose sites have some of their words.
func (w *Words) Write(m *mmu.Memory, copies ...uint64) {
	w.finish()
	for _, pa := range copies {
		for _, s := range w.sites {
			w.Code[s.at] = s.have[w.IntN(len(s.have))]
		}
		for i, word := range w.Code {
			m.Store(w.order, pa+4*uint64(i), 4, uint64(word))
		}
	}
}
