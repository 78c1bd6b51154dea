package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"kprobesim/distro"
	"kprobesim/distro/probing"
)

// verdictPrinter prints the verdicts on a distribution's kernel, one after the other: all of them would not fit into memory.
type verdictPrinter struct {
	app       *app
	o         *explainOptions
	c         distro.Config
	k         *probing.Kernel
	asked     *inquiry // nil where the kernel was not asked
	t         *tally
	costs     *costs
	n         int // verdicts so far
	separator string
}

// printVerdicts judges the sites, or each instruction of the kernel, and prints that with the kernel's answers.
func (a *app) printVerdicts(o *explainOptions, c distro.Config, k *probing.Kernel, sites []uint64, asked *inquiry) error {
	p := &verdictPrinter{app: a, o: o, c: c, k: k, asked: asked, t: newTally(), costs: newCosts(a, o, c, k), separator: "[\n"}
	if err := o.each(k, sites, p.print); err != nil {
		return err
	}
	return p.finish()
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

// print prints a verdict, unless it is only counted.
func (p *verdictPrinter) print(v probing.Verdict) error {
	s := answered{Verdict: v}
	if err := p.costs.fill(&s); err != nil {
		return err
	}
	differs := p.answer(&s)
	text := func() string { return distro.Disassemble(p.c.Kernel, p.k.Code(v.Addr), v.Addr) }
	p.n++
	if p.o.format == "json" {
		s.Instruction = text()
		return p.json(&s)
	}
	p.t.count(&v, text)
	if p.o.all && !differs {
		return nil
	}
	p.text(&s, text(), differs)
	return nil
}

// answer adds what the kernel said of the place, and reports whether it says otherwise.
func (p *verdictPrinter) answer(s *answered) (differs bool) {
	if p.asked == nil {
		return false
	}
	r := &p.asked.replies[p.n]
	if r.asked {
		s.Kernel = &r.Answer
	}
	return r.asked && !r.agrees
}

// json prints an element of a list.
func (p *verdictPrinter) json(s *answered) error {
	b, err := json.MarshalIndent(s, "  ", "  ")
	if err == nil {
		_, err = fmt.Fprintf(p.app.out, "%s  %s", p.separator, b)
	}
	p.separator = ",\n"
	return err
}

// text prints a verdict in words.
func (p *verdictPrinter) text(s *answered, instruction string, differs bool) {
	w := p.app.out
	fmt.Fprintf(w, "%s  %s\n    %s\n", s.Place, instruction, strings.Join(sentences(s.Verdict), "\n    "))
	if s.Cost != nil && !p.o.all {
		fmt.Fprintf(w, "    %s\n", s.Cost)
	}
	if differs {
		fmt.Fprintf(w, "    the kernel says otherwise: %s\n", s.Kernel)
	}
}

// finish prints what was counted. It fails where the kernel says otherwise.
func (p *verdictPrinter) finish() error {
	w, q := p.app.out, p.asked
	switch {
	case p.o.format == "json":
		fmt.Fprintln(w, "\n]")
	case p.o.all:
		p.t.print(w)
		p.costs.print(w)
	}
	if q == nil {
		return nil
	}
	if p.o.format != "json" {
		fmt.Fprintf(w, "%d places, the kernel agrees on %d", q.asked, q.asked-q.differ)
		if q.asked < p.n {
			fmt.Fprintf(w, "; it was not asked for %d others", p.n-q.asked)
		}
		fmt.Fprintln(w)
	}
	if q.differ > 0 {
		return fail(exitFailed, fmt.Errorf("explain: the kernel says otherwise of %d of %d places", q.differ, q.asked))
	}
	return nil
}
