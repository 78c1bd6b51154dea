package races

import (
	"bytes"
	"fmt"

	"kprobesim/image"
	"kprobesim/kprobes"
	"kprobesim/sim"
	"kprobesim/smp"
)

// observe makes the witness and lets it see the machine.
func (t *trial) observe() error {
	w := &witness{
		results: map[uint64]uint64{}, tasks: map[uint64]*actor{}, on: make([]uint64, t.l.s.CPUs),
		arg: func(cpu, i int) uint64 { return t.m.CPU(cpu).Arg(i) },
		syncs: func() []uint64 {
			out := make([]uint64, t.l.s.CPUs)
			for i := range out {
				out[i] = t.m.CPU(i).Counters().ContextSyncs
			}
			return out
		},
		found: t.e.found,
		mark: func(cpu int, spin bool) {
			t.e.hot, t.e.spin = t.e.hot || !spin, spin
			t.m.CPU(cpu).Break()
		},
	}
	from, err := t.symbol("_text")
	if err != nil {
		return err
	}
	to, err := t.symbol("_etext")
	if err != nil {
		return err
	}
	w.class = classes{base: from.Addr, of: make([]uint8, to.Addr-from.Addr)}
	w.read = func(addr uint64, n int) []byte {
		b, err := t.m.ReadBytes(addr, n)
		if err != nil {
			t.m.Stop(err) // text that is not mapped: not a guest that anybody can search
			return make([]byte, n)
		}
		return b
	}
	w.same = func(addr uint64, want []byte) bool {
		same, err := t.m.Same(addr, want)
		if err != nil {
			t.m.Stop(err)
		}
		return same
	}
	t.w, t.e.w = w, w
	for _, f := range []func() error{t.findSpins, t.findTexts, t.findProbes, t.findAreas, t.findMarks} {
		if err := f(); err != nil {
			return err
		}
	}
	t.m.Watch(t.event)
	for i := range t.m.CPUs() {
		t.m.CPU(i).ObserveCode(w, w.spans, false)
	}
	return nil
}

// symbol finds a function of the guest.
func (t *trial) symbol(name string) (image.Symbol, error) {
	s, ok := t.l.im.Symbol(name)
	if !ok {
		return s, fmt.Errorf("image %s has no symbol %s, which the search for races needs", t.l.im.Name, name)
	}
	return s, nil
}

// findSpins notes the instructions by which code says that it waits in a loop. Bytes that only look
// like one are of no harm: there is a point of no use behind them.
func (t *trial) findSpins() error {
	code, err := t.m.ReadBytes(t.w.class.base, len(t.w.class.of))
	if err != nil {
		return err
	}
	for at := 0; ; {
		i := bytes.Index(code[at:], []byte{0xf3, 0x90}) // pause
		if i < 0 {
			return nil
		}
		at += i + 2
		pc := t.w.class.base + uint64(at-2)
		t.w.span(spinCode, pc, pc+1)
	}
}

// findTexts notes the functions that are called or probed.
func (t *trial) findTexts() error {
	var names []string
	for _, c := range t.l.s.Callers {
		names = append(names, c.Target)
	}
	for _, p := range t.l.s.Probes {
		names = append(names, p.Target)
	}
	for _, n := range names {
		s, err := t.symbol(n)
		if err != nil {
			return err
		}
		if t.w.textAt(s.Addr) != nil {
			continue
		}
		code, err := t.m.ReadBytes(s.Addr, int(s.Size))
		if err != nil {
			return err
		}
		t.w.texts = append(t.w.texts, newText(n, s.Addr, code, t.length))
		t.w.span(textCode, s.Addr, s.Addr+s.Size)
	}
	return nil
}

// length is that of the instruction at the start of code.
func (t *trial) length(code []byte, pc uint64) int {
	_, n := t.l.isa.Disasm(code, pc, t.l.im.SymbolOff)
	return n
}

// findProbes notes where the probes of the scenario stand and which handlers they call.
func (t *trial) findProbes() error {
	for i, p := range t.l.s.Probes {
		fn, err := t.symbol(p.Target)
		if err != nil {
			return err
		}
		h, err := t.symbol(handlerName(p.Kind, i))
		if err != nil {
			return err
		}
		t.w.probes = append(t.w.probes, &probed{
			name: p.Name, addr: fn.Addr + p.Offset, fn: fn.Addr, handler: h.Addr,
		})
		t.w.span(handlerCode, h.Addr, h.Addr+1)
	}
	return nil
}

// findAreas notes where slots and detour buffers are.
func (t *trial) findAreas() error {
	for i, x := range []struct{ name, from, to string }{
		{"the out-of-line slot", "__slots_start", "__slots_end"},
		{"the detour buffer", "__detours_start", "__detours_end"},
	} {
		from, err := t.symbol(x.from)
		if err != nil {
			return err
		}
		to, err := t.symbol(x.to)
		if err != nil {
			return err
		}
		t.w.areas = append(t.w.areas, &pieces{name: x.name})
		t.w.span(slotCode+uint8(i), from.Addr, to.Addr)
	}
	return nil
}

// findMarks notes the guest functions that tell of steps: the end of a call, and stores into text.
func (t *trial) findMarks() error {
	s, err := t.symbol("race_returned")
	if err != nil {
		return err
	}
	t.w.span(returnCode, s.Addr, s.Addr+1)
	for _, name := range []string{"text_poke", "text_poke_patch", "store_text"} {
		if s, err = t.symbol(name); err != nil {
			return err
		}
		t.w.span(storeCode, s.Addr, s.Addr+s.Size)
	}
	return nil
}

// event passes on what the parts of the kernel tell.
func (t *trial) event(e sim.Event) {
	w := t.w
	switch e.Kind {
	case smp.EventTask:
		w.on[e.CPU] = e.ID
	case kprobes.EventSlot:
		w.piece(w.areas[0], e)
	case kprobes.EventDetour:
		w.piece(w.areas[1], e)
	case kprobes.EventPatch:
		if at, ok := w.unseen(); ok {
			t.blind = fmt.Errorf("a store into %s was not seen: the guest stores into text outside of the functions that are looked at", at)
			t.m.Stop(t.blind)
		}
	case kprobes.EventProbe:
		if x := w.textAt(e.Arg); x != nil {
			x.told(e.Name, e.Arg)
		}
	}
}
