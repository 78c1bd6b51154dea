package main

import (
	"fmt"

	"kprobesim/experiments/explaining"
)

// explainImage judges places of a kernel of this program.
func (a *app) explainImage(o *explainOptions, places []string) error {
	k, err := explaining.Open(o.image, o.boot.machine)
	if err != nil {
		return fail(exitUsage, fmt.Errorf("explain: %w", err))
	}
	sites, err := o.sites(k, places)
	if err != nil {
		return fail(exitUsage, err)
	}
	if o.all && o.sample == 0 {
		sites = k.All()
	}
	verdicts := make([]explaining.Verdict, len(sites))
	for i, at := range sites {
		if verdicts[i], err = k.At(at); err != nil {
			return fail(exitFailed, err)
		}
	}
	if o.cost {
		if err := k.Costs(verdicts); err != nil {
			return fail(exitFailed, err)
		}
	}
	var answers []explaining.Answer
	if o.verify {
		if answers, err = k.Verify(sites); err != nil {
			return fail(exitFailed, err)
		}
	}
	return a.printOwn(o, verdicts, answers)
}

// printOwn prints the verdicts with the kernel's answers, where it was asked.
func (a *app) printOwn(o *explainOptions, verdicts []explaining.Verdict, answers []explaining.Answer) error {
	p := newPrinter(a.out, o, answers != nil)
	for i := range verdicts {
		v := &verdicts[i]
		both := struct {
			explaining.Verdict
			Kernel *explaining.Answer `json:"kernel,omitempty"`
		}{Verdict: *v}
		j := &judged{
			place: v.Place, refused: string(v.Rule), kept: string(v.Kept), cost: v.Cost,
			instruction: func() string { return v.Instruction }, sentences: v.Sentences,
		}
		if v.Probe {
			j.mode = v.Mode().String()
		}
		if answers != nil {
			both.Kernel, j.answer, j.differs = &answers[i], answers[i], !answers[i].Agrees(v)
		}
		j.whole = both
		if err := p.print(j); err != nil {
			return err
		}
	}
	return p.finish()
}
