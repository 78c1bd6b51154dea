package kprobes

import (
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/internal/require"
	"kprobesim/sim"
	"kprobesim/workloads"
)

// Kit holds what the target of an image has.
type Kit struct {
	ISA   *cpus.ISA
	Board sim.Board
	Arch  *Arch
}

// KitOf finds it. Targets import this package, so it is filled in by the tests that stand outside of the
// package.
var KitOf func(im *image.Image) Kit

// ArchOf returns the probe rules for an image.
func ArchOf(im *image.Image) *Arch { return KitOf(im).Arch }

// isaOf is the instruction set of an image.
func isaOf(im *image.Image) *cpus.ISA { return KitOf(im).ISA }

// starts lists where the instructions of a function begin that may be probed, as offsets. Data may stand
// between them, and its words are no instructions. From a load that reserves to the store on its condition
// nothing is probed: no exception leaves a reservation, so the loop around them would never end.
func (k *Kprobes) starts(fn Text) (offs []uint64) {
	data, ok := dataOf[k.im.Name]
	if !ok {
		data = dataIn(k.im.Name)
		dataOf[k.im.Name] = data
	}
	isa, reserved := isaOf(k.im), false
	for addr := fn.Start; addr < fn.End(); addr++ {
		if addr%k.arch.Align != 0 || k.arch.Boundary != nil && k.arch.Boundary(fn, addr) != nil {
			continue
		}
		code := fn.Code[addr-fn.Start:]
		text, _ := isa.Disasm(code, addr, nil)
		mnemonic, _, _ := strings.Cut(text, " ")
		reserved = reserved || strings.HasSuffix(mnemonic, "arx") || strings.HasSuffix(mnemonic, "drex")
		_, err := k.arch.Prepare(Insn{Code: code, Addr: addr, Slot: k.sym.slots.Start, Year: k.era.Year})
		isData := slices.ContainsFunc(data, func(s Span) bool { return s.Contains(addr) })
		if !reserved && err == nil && text != "(bad)" && !isData {
			offs = append(offs, addr-fn.Start)
		}
		reserved = reserved && !strings.HasSuffix(mnemonic, "cx.") && !strings.HasSuffix(mnemonic, "trex")
	}
	return offs
}

// dataOf keeps the answers of dataIn.
var dataOf = map[string][]Span{}

// dataIn lists the data in the code of an image, where its ABI marks it by symbols: $d at its start, and another of
// such symbols behind it (ELF for the Arm Architecture, 5.5.5, mapping symbols).
func dataIn(name string) (data []Span) {
	b, err := workloads.Open(name)
	if err != nil {
		return nil
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil
	}
	symbols = slices.DeleteFunc(symbols, func(s elf.Symbol) bool { return !strings.HasPrefix(s.Name, "$") })
	slices.SortStableFunc(symbols, func(a, b elf.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	for i, s := range symbols {
		if strings.HasPrefix(s.Name, "$d") && i+1 < len(symbols) {
			data = append(data, Span{s.Value, symbols[i+1].Value})
		}
	}
	return data
}

// hex shows bytes as tests write them.
func hex(code []byte) string { return fmt.Sprintf("% x", code) }

// TestReservations compares what Arch.Reserves says of the code of every image with the names that the disassembler has.
func TestReservations(t *testing.T) {
	seen := map[string]map[Reservation]int{}
	for _, w := range workloads.List() {
		b := require.Must(workloads.Open(w.Name))(t)
		im := require.Must(image.Load(w.Name, b))(t)
		isa, arch := isaOf(im), ArchOf(im)
		seen[w.ISA] = map[Reservation]int{}
		if arch.Reserves == nil {
			continue
		}
		for _, s := range im.Symbols {
			for off := uint64(0); s.Func && off+arch.Align <= s.Size; off += arch.Align {
				code := im.Bytes(s.Addr+off, arch.Align)
				text, _ := isa.Disasm(code, s.Addr+off, nil)
				mnemonic, _, _ := strings.Cut(text, " ")
				want := NoReservation
				switch {
				case strings.HasSuffix(mnemonic, "arx"), strings.Contains(mnemonic, "drex"):
					want = ReservingLoad
				case strings.HasSuffix(mnemonic, "cx."), strings.Contains(mnemonic, "trex"):
					want = ConditionalStore
				}
				require.Equal(t, arch.Reserves(code), want, "%s: %s+%#x is %s", w.Name, s.Name, off, text)
				seen[w.ISA][want]++
			}
		}
	}
	for _, name := range []string{"arm", "ppc64"} {
		require.That(t, len(seen[name]) == 3, "%s: the images have %v", name, seen[name])
	}
}

// TestReserved asks for each address of a function whether it is in a pair of a reserving load and a conditional store: the last of
// them up to there is a load, the next one a store, which may be the address itself.
func TestReserved(t *testing.T) {
	for _, image := range []string{"ppc64-2017", "arm-2014"} {
		g, pairs := newGuest(t, image, Default()), 0
		for _, f := range functionsOf(t, image) {
			at, _ := g.im.Func(f.Name)
			fn, ok := g.k.text(at.Entry)
			require.Need(t, ok, "%s has no function %s", image, f.Name)
			part := func(addr uint64) Reservation { return g.k.arch.Reserves(fn.Code[addr-fn.Start:]) }
			for addr := fn.Start; addr < fn.End(); addr += g.k.arch.Align {
				from := addr
				if part(from) == ConditionalStore {
					from -= g.k.arch.Align
				}
				for ; from > fn.Start && part(from) == NoReservation; from -= g.k.arch.Align {
				}
				to := from + g.k.arch.Align
				for ; to < fn.End() && part(to) == NoReservation; to += g.k.arch.Align {
				}
				want := from >= fn.Start && part(from) == ReservingLoad && to < fn.End() && part(to) == ConditionalStore
				require.Equal(t, g.k.reserved(addr), want, "%s: %s is in a pair", image, fn.At(addr))
				if want && addr == to {
					pairs++
				}
			}
		}
		require.That(t, pairs > 0, "%s: no function has a pair", image)
	}
}

// TestTextsOfSymbols: a symbol without a size ends in front of the next one, or a page behind. None has what is behind its end.
func TestTextsOfSymbols(t *testing.T) {
	for _, image := range []string{"x86_64-2010", "arm-2014"} {
		g, without := newGuest(t, image, Default()), 0
		text := g.k.sym.text
		for at := text.Start; at < text.End; {
			sym, _, ok := g.im.At(at)
			end := at + 1
			for next := sym; ok && next.Addr == sym.Addr && end < text.End; end++ {
				if next, _, ok = g.im.At(end); next.Addr != sym.Addr {
					break
				}
			}
			if ok && sym.Size == 0 && sym.Addr == at && end < text.End {
				for _, addr := range []uint64{at, at + (end-at)/2, end - 1} {
					fn, found := g.k.text(addr)
					require.That(t, found && fn.Start == at && fn.End() == min(end, at+4096), "%s: %s at %#x ends at %#x, want %#x", image, sym.Name, addr, fn.End(), end)
				}
				without++
			}
			if fn, found := g.k.text(at); found {
				behind, found := g.k.text(fn.End())
				require.That(t, !found || behind.Start != fn.Start, "%s: %s has the byte behind its end", image, fn.Name)
			}
			at = end
		}
		require.That(t, without > 0, "%s: every symbol has a size", image)
	}
}
