package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"kprobesim/distro"
	"kprobesim/distro/costing"
	"kprobesim/distro/probing"
)

// judged is a verdict on a place in a kernel of either sort, as it is printed.
type judged struct {
	whole         any // as JSON
	place         string
	mode          string // how hits run, "" where no probe may stand
	refused, kept string // rules that say no to a probe and to a jump
	instruction   func() string
	sentences     func() []string
	cost          *costing.Cost
	answer        fmt.Stringer // the kernel's, nil where it was not asked
	differs       bool
}

// verdictPrinter prints verdicts one after the other: a large kernel has more than fit into memory.
type verdictPrinter struct {
	w                io.Writer
	json, all, asks  bool // asks: the kernel was asked
	t                *tally
	costs            map[string]*costing.Cost // by mode, of all
	n, asked, differ int
}

func newPrinter(w io.Writer, o *explainOptions, asks bool) *verdictPrinter {
	return &verdictPrinter{w: w, json: o.format == "json", all: o.all, asks: asks, t: newTally(), costs: map[string]*costing.Cost{}}
}

// print prints a verdict, unless it is only counted.
func (p *verdictPrinter) print(j *judged) error {
	if j.answer != nil {
		p.asked++
	}
	if j.differs {
		p.differ++
	}
	if p.n++; p.json {
		return p.element(j)
	}
	p.t.add(j.mode, j.refused, j.kept, func() string { return j.place + "  " + j.instruction() })
	if p.all && j.cost != nil {
		p.costs[j.mode], j.cost = j.cost, nil // printed once
	}
	if !p.all || j.differs {
		p.text(j)
	}
	return nil
}

// element prints an element of a list.
func (p *verdictPrinter) element(j *judged) error {
	separator := ","
	if p.n == 1 {
		separator = "["
	}
	b, err := json.MarshalIndent(j.whole, "  ", "  ")
	if err == nil {
		_, err = fmt.Fprintf(p.w, "%s\n  %s", separator, b)
	}
	return err
}

// text prints a verdict in words.
func (p *verdictPrinter) text(j *judged) {
	said := j.sentences()
	if j.cost != nil {
		said = append(said, j.cost.String())
	}
	if j.differs {
		said = append(said, fmt.Sprintf("the kernel says otherwise: %s", j.answer))
	}
	fmt.Fprintf(p.w, "%s  %s\n    %s\n", j.place, j.instruction(), strings.Join(said, "\n    "))
}

// finish prints what was counted. It fails where the kernel says otherwise.
func (p *verdictPrinter) finish() error {
	switch {
	case p.json:
		fmt.Fprintln(p.w, "\n]")
	case p.all:
		p.t.print(p.w)
		for _, mode := range slices.Sorted(maps.Keys(p.costs)) {
			fmt.Fprintln(p.w, p.costs[mode])
		}
	}
	if p.asks && !p.json {
		fmt.Fprintf(p.w, "%d places, the kernel agrees on %d", p.asked, p.asked-p.differ)
		if p.asked < p.n {
			fmt.Fprintf(p.w, "; it was not asked for %d others", p.n-p.asked)
		}
		fmt.Fprintln(p.w)
	}
	if p.differ > 0 {
		return fail(exitFailed, fmt.Errorf("explain: the kernel says otherwise of %d of %d places", p.differ, p.asked))
	}
	return nil
}

// printVerdicts judges the sites, or each instruction of a distribution's kernel, and prints that with the kernel's answers.
func (a *app) printVerdicts(o *explainOptions, c distro.Config, k *probing.Kernel, sites []uint64, asked *inquiry) error {
	p, costs := newPrinter(a.out, o, asked != nil), newCosts(a, o, c, k)
	err := o.each(k, sites, func(v probing.Verdict) error {
		text := func() string { return distro.Disassemble(c.Kernel, k.Code(v.Addr), v.Addr) }
		s := answered{Verdict: v}
		if err := costs.fill(&s); err != nil {
			return err
		}
		j := &judged{
			place: v.Place, refused: string(v.Rule), kept: string(v.Kept), cost: s.Cost, instruction: text,
			sentences: func() []string { return sentences(v) },
		}
		if v.Probe {
			j.mode = costing.Mode(&v)
		}
		if asked != nil && asked.replies[p.n].asked {
			r := &asked.replies[p.n]
			s.Kernel, j.answer, j.differs = &r.Answer, r.Answer, !r.agrees
		}
		if p.json {
			s.Instruction = text()
			j.whole = s
		}
		return p.print(j)
	})
	if err != nil {
		return err
	}
	return p.finish()
}

// printUser measures probes in programs, in each way in which their hits run.
func (a *app) printUser(o *explainOptions, s *costs) error {
	if err := s.boot(); err != nil {
		return err
	}
	costs, lacks, err := s.lab.User()
	if err != nil {
		return fail(exitFailed, err)
	}
	if o.format == "json" {
		e := json.NewEncoder(a.out)
		e.SetIndent("", "  ")
		return fail(exitFailed, e.Encode(costs))
	}
	for _, c := range costs {
		fmt.Fprintln(a.out, c)
	}
	for _, lack := range append(lacks, "the instruction of a place tells which of these it has: no verdict is given on instructions of programs") {
		fmt.Fprintln(a.out, lack)
	}
	return nil
}

// each calls f with the verdicts on the sites, or on each instruction of the kernel, until f fails.
func (o *explainOptions) each(k *probing.Kernel, sites []uint64, f func(probing.Verdict) error) error {
	if o.every() {
		return k.Every(f)
	}
	for _, at := range sites {
		if err := f(k.At(at)); err != nil {
			return err
		}
	}
	return nil
}
