package gdb

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// registers returns the registers of the chosen CPU.
func (s *session) registers() string {
	m := s.player.inst.m
	_, digits := values(m.ISA(), m.CPU(s.thread))
	return strings.Join(digits, "")
}

// register returns one register, by gdb's number.
func (s *session) register(text string) string {
	m := s.player.inst.m
	numbers, digits := values(m.ISA(), m.CPU(s.thread))
	i := slices.IndexFunc(numbers, func(n int) bool { return fmt.Sprintf("%x", n) == text })
	if i < 0 {
		return wrong("no register %q", text)
	}
	return digits[i]
}

// notWritten is the answer to writes of registers.
const notWritten = "registers are not written: the run would not be the experiment's"

// maxBreak is longer than the breakpoint instruction of any processor here, in bytes.
const maxBreak = 4

// pass refuses to write registers but for one case. Where gdb and a probe of the guest have their breakpoints at one address,
// gdb takes the guest's for a part of the program, and moves the program counter behind it. The guest is to execute its
// breakpoint, so the program counter stays, and gdb is told that all is well.
func (s *session) pass(text string) string {
	number, digits, _ := strings.Cut(text, "=")
	m := s.player.inst.m
	pc := m.CPU(s.thread).PC()
	for n := uint64(1); n <= maxBreak; n++ {
		behind := inOrder(m.ISA().Order, pc+n, m.ISA().Bits/8)
		if digits == behind && s.player.breaks[pc] && s.register(number) == inOrder(m.ISA().Order, pc, m.ISA().Bits/8) {
			return "OK"
		}
	}
	return wrong(notWritten)
}

// maxRead bounds what one packet reads: gdb takes less and asks again.
const maxRead = 4096

// read returns memory as the chosen CPU sees it, up to the first page that is not there.
func (s *session) read(text string) string {
	addr, n, err := numbers(text)
	if err != nil {
		return okOr(err)
	}
	var out []byte
	for n = min(n, maxRead); n > 0; {
		k := min(n, pageBytes-addr%pageBytes)
		pa, ok := s.player.inst.m.CPU(s.thread).Translate(addr)
		if !ok {
			break
		}
		b, err := s.player.inst.m.ReadPhysical(pa, int(k))
		if err != nil {
			break
		}
		out = append(out, b...)
		addr, n = addr+k, n-k
	}
	if len(out) == 0 && n > 0 {
		return "E0e" // gdb takes no text here
	}
	return hex.EncodeToString(out)
}

// pageBytes is the size of the smallest page.
const pageBytes = 4096

// write changes memory.
func (s *session) write(text string, binary bool) string {
	span, data, ok := strings.Cut(text, ":")
	addr, n, err := numbers(span)
	b := []byte(data)
	if !binary && err == nil {
		b, err = hex.DecodeString(data)
	}
	if err != nil || !ok || uint64(len(b)) != n {
		return wrong("%q: want address, length and bytes", span)
	}
	for len(b) > 0 {
		k := min(len(b), int(pageBytes-addr%pageBytes))
		pa, ok := s.player.inst.m.CPU(s.thread).Translate(addr)
		if !ok {
			return wrong("no memory at %#x", addr)
		}
		if err := s.player.inst.m.WritePhysical(pa, b[:k]); err != nil {
			return okOr(err)
		}
		s.warn()
		addr, b = addr+uint64(k), b[k:]
	}
	return "OK"
}

// warn says once what a write means.
func (s *session) warn() {
	if !s.written {
		s.written = true
		fmt.Fprintln(s.log, "gdb has written to memory: the times of this run are no longer those of the experiment, "+
			"and going backwards loses what was written")
	}
}

// point sets a breakpoint or watchpoint, or takes it away. Of software and hardware there is no difference here.
func (s *session) point(add bool, text string) string {
	typ, span, _ := strings.Cut(text, ",")
	span, _, _ = strings.Cut(span, ";") // conditions are gdb's
	addr, n, err := numbers(span)
	switch {
	case err != nil:
		return okOr(err)
	case len(typ) != 1 || typ[0] < '0' || typ[0] > '4':
		return ""
	}
	return okOr(s.player.change(add, typ[0], addr, n))
}
