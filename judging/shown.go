package judging

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"kprobesim/internal/native"
)

// Loops by which a number of a description can be found. Their tables are none of Cases with the seeds that people take.

// shown is their seed.
const shown = 1 << 40

// one returns the only case that is made.
func one(make func(m *caser)) *Case {
	m := &caser{rng: rand.New(rand.NewPCG(shown, 26)), seed: shown}
	make(m)
	return m.all[0]
}

// RandomBits is a branch on a table of so many random bits, a power of two.
func RandomBits(n int) *Case {
	return one(func(m *caser) { m.bits(fmt.Sprintf("%d random bits", n), m.table(n, 2, false), "") })
}

// Pattern is a branch that follows the bits of a text again and again, whose length is a power of two.
func Pattern(bits string) *Case {
	data := []byte(bits)
	for i := range data {
		data[i] -= '0'
	}
	text := "bits " + bits
	if run := bytes.LastIndexByte(data, 0) + 1; run > 16 && run == len(data)-1 {
		text = fmt.Sprintf("%d bits 0 and a bit 1", run)
	}
	return one(func(m *caser) { m.bits(text, native.Chain{Size: pageSize, Data: data}, "") })
}

// Jumps is a round of so many indirect jumps, each to the next one: lea next(%rip),%rax; jmp *%rax, and nops up to 16 bytes.
func Jumps(n int) *Case {
	body := append(Hex("488d0509000000ffe0"), bytes.Repeat([]byte{0x90}, apart-9)...)
	return one(func(m *caser) {
		m.add(kindTarget, fmt.Sprintf("%d jumps, each to the next", n), Loop{Body: body, Copies: n, Times: 1 << 17 / n})
	})
}

// Strides loads words so many lines apart, an odd number, from a power of two of bytes in large pages. In series each load waits for the one
// before.
func Strides(bytes, lines uint64, series bool) *Case {
	return one(func(m *caser) { m.stride(set{"in large pages", bytes}, lines, series) })
}

// Alone is Strides in series, of which one instruction loads all words.
func Alone(bytes, lines uint64) *Case {
	c := Strides(bytes, lines, true)
	c.Text += ", by one instruction"
	c.loop.Copies, c.loop.Times = 1, c.loop.Times*c.loop.Copies
	return c
}

// Stores stores so many words in each line of a power of two of bytes in large pages.
func Stores(bytes uint64, words int) *Case {
	return one(func(m *caser) {
		m.add(kindStream, fmt.Sprintf("stores of %d words a line, %s", words, size(bytes)), walk(bytes, line, stores(words)), plain(bytes))
	})
}

// Fills is a repeated instruction that stores so many bytes one by one in the first level.
func Fills(n uint64) *Case { return repeated("rep stosb", 0xaa, n) }

// Copies is Fills of a copy, to memory that begins behind its source.
func Copies(n uint64) *Case { return repeated("rep movsb", 0xa4, n) }

func repeated(name string, code byte, n uint64) *Case {
	room := max(n, pageSize)
	each := append(LoadPointer(1, 0), 0x49, 0x89, 0xc9, 0x4c, 0x8d, 0x81)         // mov pointer,%rcx; mov %rcx,%r9; lea room(%rcx),%r8
	body := Absolute([]byte{0x4c, 0x89, 0xc7, 0x4c, 0x89, 0xce, 0xb9}, uint32(n)) // mov %r8,%rdi; mov %r9,%rsi; mov $n,%ecx
	l := Loop{Each: Absolute(each, uint32(room)), Body: append(body, 0xf3, code), Copies: 8, Times: 250}
	return one(func(m *caser) { m.add(kindStream, fmt.Sprintf("%s of %d bytes", name, n), l, plain(2*room)) })
}
