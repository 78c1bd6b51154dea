package races

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kprobesim/cpus"
	"kprobesim/kprobes"
	"kprobesim/sim"
)

// teller writes a schedule down as a table with a column for each CPU. What led to the violation has weight; of the rest, the
// last lines in front of it are kept.
type teller struct {
	t      *trial
	rows   []row
	run    run            // of the CPU that executes
	syncs  []uint64       // by CPU
	synced []string       // by CPU: when it has synchronized last, and where
	stores map[string]int // by text: how many are told
	stored []toldStore
	flow   uint64            // the last arrow from a store to who fetches it
	patch  string            // the step of a protocol that came last
	wrong  func() *Violation // what was found, or nil
}

// row is one line of the table, about one CPU. addr has the bytes that it concerns, none for a row that cannot be in question.
type row struct {
	step   uint64
	cpu    int
	text   string
	weight int
	addr   [2]uint64
	// instructions are how many it stands for; flows and ends are arrows from stores to who fetches them.
	instructions int
	flows, ends  []uint64
}

// Weights of rows.
const (
	passing  = iota // instructions between two other rows
	helping         // what a protocol or the script did
	deciding        // what the violation is made of
)

// run is some instructions of one CPU in code of one class.
type run struct {
	step     uint64
	cpu      int
	from, to uint64
	class    class
	n        int
	ends     []uint64
}

// maxRows is the length of a table with the line that each CPU has below it, so that a report has forty lines at most.
const maxRows = 32

// attach prepares for a machine, before its first instruction.
func (x *teller) attach(t *trial) {
	*x = teller{t: t, stores: map[string]int{}, wrong: func() *Violation { return t.e.bad }}
	x.syncs, x.synced = make([]uint64, t.m.CPUs()), slices.Repeat([]string{"never"}, t.m.CPUs())
	for i := range x.syncs {
		x.syncs[i] = t.m.CPU(i).Counters().ContextSyncs
	}
	for _, text := range t.checker.texts {
		x.stores[text.name] = len(text.stores)
	}
}

// step notes one instruction, in front of the checker.
func (x *teller) step(s *cpus.Step) {
	class := x.t.checker.code.at(s.PC)
	if r := &x.run; r.n == 0 || r.cpu != s.CPU || r.class != class {
		x.flush()
		x.run = run{step: x.t.e.steps(), cpu: s.CPU, from: s.PC, class: class}
	}
	x.run.to = s.PC
	x.run.n++
	x.run.ends = append(x.run.ends, x.arrows(s)...)
	if s.Exception != "" {
		x.flush()
		x.add(row{cpu: s.CPU, text: s.Exception + " at " + x.place(s.PC), weight: passing, addr: [2]uint64{s.PC, s.PC + 1}})
	}
}

// stepped notes what the instruction has done, behind the checker.
func (x *teller) stepped(s *cpus.Step) {
	if n := x.t.m.CPU(s.CPU).Counters().ContextSyncs; n != x.syncs[s.CPU] {
		x.syncs[s.CPU] = n
		x.synced[s.CPU] = fmt.Sprintf("at step %d in %s", x.t.e.steps(), x.place(s.PC))
	}
	for _, text := range x.t.checker.texts {
		for _, st := range text.stores[min(x.stores[text.name], len(text.stores)):] {
			x.flush()
			x.stored = append(x.stored, toldStore{bytesAt: bytesAt{st.addr, st.new}, cpu: st.cpu, row: len(x.rows)})
			x.add(row{
				cpu: st.cpu, weight: helping, addr: [2]uint64{st.addr, st.addr + uint64(len(st.new))},
				text: fmt.Sprintf("stores % x over % x at %s", st.new, st.old, text.at(st.addr)),
			})
		}
		x.stores[text.name] = len(text.stores)
	}
}

// flush ends a run of instructions.
func (x *teller) flush() {
	r := &x.run
	if r.n == 0 {
		return
	}
	text := x.place(r.from)
	if r.n > 1 {
		text = fmt.Sprintf("%s to %s, %d instructions", text, x.place(r.to), r.n)
	}
	x.rows = append(x.rows, row{step: r.step, cpu: r.cpu, text: text, weight: passing, instructions: r.n, ends: r.ends})
	r.n = 0
}

func (x *teller) add(r row) {
	r.step = x.t.e.steps()
	x.rows = append(x.rows, r)
}

// event notes what the kernel tells.
func (x *teller) event(e sim.Event) {
	text, addr, weight := "", e.Arg, helping
	switch e.Kind {
	case kprobes.EventPatch:
		x.patch = fmt.Sprintf("%s at %s", patchWords(e.Name), x.place(e.Arg))
		text = "protocol: " + x.patch
	case kprobes.EventSync:
		text = "protocol: this CPU has synchronized"
	case kprobes.EventProbe:
		text = fmt.Sprintf("probe at %s is %s", x.place(e.Arg), e.Name)
	case kprobes.EventSlot, kprobes.EventDetour:
		text = fmt.Sprintf("%s at %#x is %s", map[sim.EventKind]string{kprobes.EventSlot: "slot", kprobes.EventDetour: "detour buffer"}[e.Kind], e.Arg, e.Name)
	case sim.EventSignal:
		text, weight = "an interrupt of the timer comes", deciding
		if e.Name == nmiLine {
			text = "an NMI comes"
		}
	case "grace-end", "grace-begin":
		text, addr = fmt.Sprintf("grace period %d of %s %ss", e.ID, e.Name, strings.TrimPrefix(string(e.Kind), "grace-")), 0
	default:
		return
	}
	x.flush()
	x.add(row{cpu: e.CPU, text: text, weight: weight, addr: [2]uint64{addr, addr + 1}})
}

// acts notes a line of the script.
func (x *teller) acts(cpu int, text string) {
	x.flush()
	x.add(row{cpu: cpu, text: "script: " + text, weight: helping})
}

// patchWords says what a step of a protocol is.
func patchWords(name string) string {
	return map[string]string{
		"breakpoint": "a breakpoint in the first byte", "tail": "the bytes behind the first one", "first": "the first byte, last of all",
		"whole": "all bytes while the machine stands still", "restore": "the instruction back in the breakpoint's place",
	}[name]
}

// place names an address: its function, or the slot or detour buffer.
func (x *teller) place(pc uint64) string {
	if what, start, ok := x.slotOf(pc); ok {
		return fmt.Sprintf("%s %#x+%#x", what, start, pc-start)
	}
	return x.t.m.Image().SymbolText(pc)
}

// table returns at most so many rows: the ones of most weight, and the last ones.
func (x *teller) table() []string {
	x.flush()
	v := x.wrong()
	if v == nil {
		v = &Violation{CPU: -1}
	}
	x.weigh(v)
	order := make([]int, len(x.rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(x.value(b), x.value(a)), cmp.Compare(b, a))
	})
	order = order[:min(len(order), maxRows-1-x.t.m.CPUs())]
	slices.Sort(order)
	out := []string{x.line("step", func(i int) string { return fmt.Sprintf("cpu %d", i) })}
	for _, i := range order {
		r := &x.rows[i]
		out = append(out, x.line(fmt.Sprint(r.step), func(cpu int) string {
			if cpu == r.cpu {
				return r.text
			}
			return ""
		}))
	}
	return out
}

// lastRows is how many rows in front of the violation are worth as much as what decided.
const lastRows = 12

func (x *teller) value(i int) int {
	if i >= len(x.rows)-lastRows {
		return deciding
	}
	return x.rows[i].weight
}

// weigh finds what was about the bytes in question.
func (x *teller) weigh(v *Violation) {
	from, to := v.PC, v.PC
	if t := x.t.checker.textAt(v.PC); t != nil {
		from, to = v.PC-t.reach()+1, v.PC+t.reach()
	} else if _, start, ok := x.slotOf(v.PC); ok {
		from, to = start, start+1
	}
	for i := range x.rows {
		if r := &x.rows[i]; r.weight == helping && r.addr[0] < to && from < r.addr[1] {
			r.weight = deciding
		}
	}
}

// slotOf finds the slot or detour buffer that an address lies in.
func (x *teller) slotOf(pc uint64) (what string, start uint64, ok bool) {
	for i := range x.t.checker.pools {
		p := &x.t.checker.pools[i]
		if at, ok := p.find(pc); x.t.checker.code.at(pc) == slotCode+class(i) && (ok || at > 0) {
			if !ok {
				at--
			}
			return []string{"slot", "detour"}[i], p.slots[at].start, true
		}
	}
	return "", 0, false
}

// tableWidth is the width that all columns of CPUs share.
const tableWidth = 150

// line is one line of the table.
func (x *teller) line(step string, cell func(cpu int) string) string {
	n := x.t.m.CPUs()
	width := max(tableWidth/n, 16)
	s := fmt.Sprintf("%7s", step)
	for i := range n {
		text := cell(i)
		if i < n-1 {
			text = text[:min(len(text), width)]
		}
		s += fmt.Sprintf("  %-*s", width, text)
	}
	return strings.TrimRight(s, " ")
}

// facts says which step of a protocol was the last, and when each CPU has synchronized.
func (x *teller) facts() (out []string) {
	if x.patch != "" {
		out = append(out, "protocol's last step: "+x.patch)
	}
	for i, s := range x.synced {
		out = append(out, fmt.Sprintf("cpu %d synchronized last %s", i, s))
	}
	return out
}

// lines are the table and what stands below it.
func (x *teller) lines() []string {
	out := append(x.table(), x.facts()...)
	if v := x.wrong(); v != nil {
		out = append(out, "broken: "+broken(v.Kind, x.t.l.target.Probes.Fetching))
	}
	return out
}
