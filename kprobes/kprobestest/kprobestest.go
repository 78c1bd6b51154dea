// Package kprobestest compares what the rules of an architecture decide with what they decided before, for many drawn functions. Other
// tests say what is right. Sums say which rule of which year answers another way.
package kprobestest

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"math/rand/v2"
	"slices"
	"strings"

	"kprobesim/kprobes"
)

// Drawn is a function, an address in it and what else a rule may look at.
type Drawn struct {
	Fn    kprobes.Text
	Addr  uint64
	Far   uint64 // some other place
	Bool  [3]bool
	Rand  *rand.Rand
	first []uint64 // where instructions start
}

// Code is that of the function from the address on.
func (d *Drawn) Code() []byte { return d.Fn.Code[d.Addr-d.Fn.Start:] }

// Site is the address with something near it that forbids a jump, or nothing.
func (d *Drawn) Site() kprobes.Site {
	s := kprobes.Site{Fn: d.Fn, Addr: d.Addr}
	switch d.Rand.IntN(16) {
	case 0:
		s.EntryText = kprobes.Span{Start: d.Fn.Start, End: d.Addr + 1}
	case 1:
		s.Module = true
	case 2:
		s.Careless = true
	case 3, 4, 5:
		at := d.first[d.Rand.IntN(len(d.first))]
		s.Exceptions = func(addr uint64) bool { return addr == at }
	}
	return s
}

// A Rule is a name and what is decided of a function.
type Rule struct {
	Name    string
	Decides func(d *Drawn) string
}

// Sums draws so many functions, has each rule decide, and returns a line with a sum for each rule. Most addresses are of instructions.
func Sums(name string, functions int, a *kprobes.Arch, draw func(r *rand.Rand) []byte, rules []Rule) string {
	r, sums := rand.New(rand.NewPCG(1, 1)), map[string]hash.Hash{}
	for _, rule := range rules {
		sums[rule.Name] = sha256.New()
	}
	for range functions {
		d := &Drawn{Rand: r, Fn: kprobes.Text{Name: "f", Start: 1<<30 + a.Align*r.Uint64N(1<<20), Code: draw(r)}}
		for at := d.Fn.Start; at < d.Fn.End(); {
			d.first = append(d.first, at)
			at += max(uint64(a.Classify(d.Fn.Code[at-d.Fn.Start:], at).Len), a.Align)
		}
		for range 4 {
			if d.Addr = d.first[r.IntN(len(d.first))]; r.IntN(8) == 0 {
				d.Addr = d.Fn.Start + r.Uint64N(uint64(len(d.Fn.Code)))/a.Align*a.Align
			}
			d.Far = d.Addr + near(r)
			for i := range d.Bool {
				d.Bool[i] = r.IntN(2) == 0
			}
			for _, rule := range rules {
				fmt.Fprintln(sums[rule.Name], rule.Decides(d))
			}
		}
	}
	var out strings.Builder
	for _, rule := range rules {
		fmt.Fprintf(&out, "%s, %s: %.6x\n", name, rule.Name, sums[rule.Name].Sum(nil))
	}
	return out.String()
}

// near is a distance in bytes, a power of two or a little more or less: how far branches lead is one.
func near(r *rand.Rand) uint64 {
	d := uint64(1)<<(5+r.IntN(29)) + 4*uint64(r.IntN(5)) - 8
	if r.IntN(8) == 0 {
		d += r.Uint64N(4)
	}
	if r.IntN(2) == 0 {
		d = -d
	}
	return d
}

// OfArch has lines with what is written down of an architecture and its kernels, and sums of all of its rules, of each year.
func OfArch(name string, functions int, arch *kprobes.Arch, draw func(r *rand.Rand) []byte, template kprobes.Template) string {
	var out strings.Builder
	for _, e := range arch.Eras {
		a := *arch
		if e.Change != nil {
			e.Change(&a)
		}
		year := fmt.Sprintf("%s in %d", name, e.Year)
		if e.EntryCall != nil {
			fmt.Fprintf(&out, "%s, call: % x\n", year, e.EntryCall(0x1000, 0x5000))
		}
		e.Change, e.EntryCall = nil, nil
		fmt.Fprintf(&out, "%s: %+v\n", year, e)
		fmt.Fprintf(&out, "%s: %s, % x, %d, %d, %d, %q, %v, %v, %v, %s, %s, %s, %q\n", year, a.Name, a.Breakpoint, a.Align, a.SlotSize, a.Line, a.Flush, a.StopsToRestore, a.SyncsBreakpoints, a.Interrupted, a.First, a.Then, a.Learned, a.Members)
		o := a.Optimizer
		fmt.Fprintf(&out, "%s: %d, %d, %q, %q, %q\n", year, o.JumpSize, o.MaxRegion, o.Patchings, o.Marks, o.Calls)
		out.WriteString(Sums(year, functions, &a, draw, append(words(&a, e.Year), jumps(o, template)...)))
	}
	return out.String()
}

// words are the rules for one instruction.
func words(a *kprobes.Arch, year int) []Rule {
	rules := []Rule{
		{"prepare", func(d *Drawn) string {
			c, err := a.Prepare(kprobes.Insn{Code: d.Code(), Addr: d.Addr, Slot: d.Far, Boost: d.Bool[0], Blind: d.Bool[1] && d.Bool[2], Year: year})
			return fmt.Sprint(c, err)
		}},
		{"classify", func(d *Drawn) string { return fmt.Sprint(a.Classify(d.Code(), d.Addr)) }},
		{"atomic", func(d *Drawn) string {
			n := 1 + d.Rand.IntN(min(len(d.Code()), 5))
			old, changed := d.Code()[:n], d.Fn.Code[:n]
			return fmt.Sprint(a.Atomic(d.Addr+uint64(d.Rand.IntN(8)-2), d.Addr, old, changed), a.Atomic(d.Addr, d.Addr, old, a.Breakpoint), a.Atomic(d.Addr, d.Addr, a.Breakpoint, old))
		}},
	}
	if a.Boundary != nil {
		rules = append(rules, Rule{"boundary", func(d *Drawn) string { return fmt.Sprint(a.Boundary(d.Fn, d.Addr)) }})
	}
	if a.Reserves != nil {
		rules = append(rules, Rule{"reserves", func(d *Drawn) string { return fmt.Sprint(a.Reserves(d.Code())) }})
	}
	if a.Emulates != nil {
		rules = append(rules, Rule{"emulates", func(d *Drawn) string { return fmt.Sprint(a.Emulates(year, d.Code())) }})
	}
	if a.SystemCall != nil {
		rules = append(rules, Rule{"system call", func(d *Drawn) string { return fmt.Sprint(a.SystemCall(d.Code())) }})
	}
	if a.Conditional != nil {
		rules = append(rules, Rule{"conditional", func(d *Drawn) string { return fmt.Sprint(a.Conditional(d.Code())) }})
	}
	return rules
}

// jumps are the rules for jumps and detours.
func jumps(o *kprobes.Optimizer, template kprobes.Template) []Rule {
	return []Rule{
		{"region", func(d *Drawn) string {
			r, refused := o.Region(d.Site())
			return fmt.Sprint(r, refused)
		}},
		{"jump", func(d *Drawn) string {
			code, refused := o.Jump(kprobes.Region{Addr: d.Addr, Code: d.Code()}, d.Far)
			return fmt.Sprint(code, refused)
		}},
		{"detour", func(d *Drawn) string {
			r, refused := o.Region(kprobes.Site{Fn: d.Fn, Addr: d.Addr})
			if refused != nil {
				return ""
			}
			at := kprobes.DetourAt{Addr: d.Far, Probe: d.Rand.Uint64()}
			for range o.Calls {
				at.Calls = append(at.Calls, d.Far+near(d.Rand))
			}
			t := template
			if d.Rand.IntN(16) == 0 {
				t.Code = t.Code[:d.Rand.IntN(len(t.Code))]
			}
			if d.Rand.IntN(16) == 0 && len(t.Code) >= 8 { // other instructions than those that are filled in
				t.Code = slices.Clone(t.Code)
				clear(t.Code[d.Rand.IntN(len(t.Code)/4)*4:][:4])
			}
			made, refused := o.Detour(t, r, at)
			return fmt.Sprint(made, refused)
		}},
	}
}
