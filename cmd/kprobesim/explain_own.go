package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kprobesim/distro/costing"
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

// printOwn prints a line or more for each place, with the kernel's answer where it was asked, or all as JSON.
func (a *app) printOwn(o *explainOptions, verdicts []explaining.Verdict, answers []explaining.Answer) error {
	differ := 0
	for i := range answers {
		if !answers[i].Agrees(&verdicts[i]) {
			differ++
		}
	}
	var err error
	if differ > 0 {
		err = fail(exitFailed, fmt.Errorf("explain: the kernel says otherwise of %d of %d places", differ, len(answers)))
	}
	if o.format == "json" {
		return errors.Join(a.jsonOwn(verdicts, answers), err)
	}
	t, costs := newTally(), map[string]*costing.Cost{}
	for i := range verdicts {
		v := &verdicts[i]
		differs, kind := answers != nil && !answers[i].Agrees(v), ""
		if v.Probe {
			kind = v.Mode().String()
		}
		t.add(kind, string(v.Rule), string(v.Kept), func() string { return v.Place + "  " + v.Instruction })
		if o.all && v.Cost != nil {
			costs[kind], v.Cost = v.Cost, nil // printed once
		}
		if o.all && !differs {
			continue
		}
		fmt.Fprintf(a.out, "%s  %s\n    %s\n", v.Place, v.Instruction, strings.Join(v.Sentences(), "\n    "))
		if differs {
			fmt.Fprintf(a.out, "    the kernel says otherwise: %s\n", answers[i])
		}
	}
	if o.all {
		t.print(a.out)
		for _, kind := range slices.Sorted(maps.Keys(costs)) {
			fmt.Fprintln(a.out, costs[kind])
		}
	}
	if answers != nil {
		fmt.Fprintf(a.out, "%d places, the kernel agrees on %d\n", len(answers), len(answers)-differ)
	}
	return err
}

// jsonOwn prints a list of verdicts, each with the kernel's answer.
func (a *app) jsonOwn(verdicts []explaining.Verdict, answers []explaining.Answer) error {
	type both struct {
		explaining.Verdict
		Kernel *explaining.Answer `json:"kernel,omitempty"`
	}
	all := make([]both, len(verdicts))
	for i, v := range verdicts {
		all[i].Verdict = v
		if answers != nil {
			all[i].Kernel = &answers[i]
		}
	}
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	return e.Encode(all)
}
