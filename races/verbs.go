package races

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kprobesim/internal/doc"
	"kprobesim/kprobes"
)

// verb is a word that begins an action, with the number of words that follow it, and the function that carries it out.
// Most are calls of the API. The others wait, hold a probe against what is expected, or load and unload modules.
type verb struct {
	word        string
	least, most int
	do          func(t *trial, a *Action) error
}

// Verbs whose actions are read in a way of their own, or that a test of the scenario asks for.
const (
	expectMode   = "expect"
	sleepJiffies = "sleep"
	setWatch     = "watch"
	clearWatch   = "unwatch"
	dropPage     = "drop"
	discardPages = "discard"
	spawnTask    = "spawn"
	insertModule = "insmod"
	removeModule = "rmmod"
	awaitMode    = "await"
	stopMachine  = "stop"
)

// verbs lists them in the order of messages.
func verbs() []verb {
	each := func(f func(t *trial, i int) error) func(*trial, *Action) error {
		return func(t *trial, a *Action) error { return t.each(a, func(i int) error { return f(t, i) }) }
	}
	alone := func(f func(t *trial) error) func(*trial, *Action) error {
		return func(t *trial, _ *Action) error { return f(t) }
	}
	return []verb{
		{"register", 1, maxProbes, each((*trial).register)},
		{"unregister", 1, maxProbes, (*trial).unregister},
		{"enable", 1, 1, each(func(t *trial, i int) error { return t.toggle(i, on, t.k.Enable) })},
		{"disable", 1, 1, each(func(t *trial, i int) error { return t.toggle(i, off, t.k.Disable) })},
		{expectMode, 2, 2, func(t *trial, a *Action) error { return t.each(a, func(i int) error { return t.expect(a, i) }) }},
		{awaitMode, 2, 2, func(t *trial, a *Action) error { return t.each(a, func(i int) error { return t.await(a, i) }) }},
		{stopMachine, 0, 0, alone((*trial).stop)}, // as somebody does who knows nothing of probes
		{"settle", 0, 0, alone(func(t *trial) error { return t.k.WaitOptimizer(t.call) })},
		{sleepJiffies, 1, 1, func(t *trial, a *Action) error { return t.smp.Sleep(t.call, a.N) }},
		{"load", 0, 0, alone((*trial).load)},     // puts the module's text there and lets callers in
		{"unload", 0, 0, alone((*trial).unload)}, // takes it away
		{setWatch, 1, maxWatches, each((*trial).setWatch)},
		{clearWatch, 1, maxWatches, each((*trial).clearWatch)},
		{dropPage, 0, 0, alone((*trial).dropPage)},         // takes the page of the program that processes share from memory
		{discardPages, 0, 0, alone((*trial).discardPages)}, // gives up the processes' own copies of it
		{spawnTask, 1, 1, (*trial).spawnShort},             // a process makes so many calls and ends
		{insertModule, 0, maxProbes, (*trial).insmod},      // its init function registers the probes
		{removeModule, 0, maxProbes, (*trial).rmmod},       // its exit function unregisters all but these, for which the kernel refuses
	}
}

// queued is the script's word for a probe that waits for the optimizer.
const queued = "queued"

// readAction never gets an empty line: doc.Text refuses one.
func (s *Scenario) readAction(line string) (a Action, err error) {
	words := strings.Fields(line)
	a.Verb, words, a.line = words[0], words[1:], line
	var known []string
	for _, v := range verbs() {
		known = append(known, v.word)
	}
	i := slices.Index(known, a.Verb)
	if i < 0 {
		return a, fmt.Errorf("unknown verb: known are %s%s", strings.Join(known, ", "), doc.Suggest(a.Verb, known))
	}
	want := verbs()[i]
	if len(words) < want.least || len(words) > want.most {
		return a, fmt.Errorf("%d words behind the verb, want %d to %d", len(words), want.least, want.most)
	}
	if err := s.allows(a.Verb); err != nil {
		return a, err
	}
	a.do = want.do
	return a, s.readObjects(&a, words)
}

// readObjects reads what stands behind a verb.
func (s *Scenario) readObjects(a *Action, words []string) (err error) {
	switch a.Verb {
	case sleepJiffies:
		return a.number("sleep 1 to 1000 jiffies", words[0])
	case spawnTask:
		return a.number("a task makes 1 to 1000 calls", words[0])
	case setWatch, clearWatch:
		a.Probes, err = s.watches(words)
		return err
	case expectMode, awaitMode:
		if a.Queued = words[1] == queued; !a.Queued {
			if a.Mode, err = readMode(words[1]); err != nil {
				return err
			}
		}
		words = words[:1]
	}
	if a.Probes, err = s.named(words); err != nil {
		return err
	}
	for _, i := range a.Probes {
		switch p := &s.Probes[i]; {
		case (a.Verb == insertModule || a.Verb == removeModule) && !p.Module:
			return fmt.Errorf("probe %q is not the module's: it does not say module = true", p.Name)
		case p.User && a.Verb != "register" && a.Verb != "unregister":
			return fmt.Errorf("probe %q is of user space, which can only be registered and unregistered", p.Name)
		}
	}
	return nil
}

// number reads the one number of an action.
func (a *Action) number(what, word string) (err error) {
	if a.N, err = strconv.ParseInt(word, 10, 64); err != nil || a.N < 1 || a.N > 1000 {
		return fmt.Errorf("%s, not %s", what, word)
	}
	return nil
}

// allows refuses what needs processes, or a module of handlers, where there are none. A task is spawned on another CPU
// than that of the script.
func (s *Scenario) allows(verb string) error {
	switch verb {
	case insertModule, removeModule:
		if !slices.ContainsFunc(s.Probes, func(p Probe) bool { return p.Module }) {
			return fmt.Errorf("%s is for scenarios with a probe that says module = true", verb)
		}
	case dropPage, discardPages, spawnTask:
		switch {
		case len(s.Processes) == 0:
			return fmt.Errorf("%s is for scenarios with [[processes]]", verb)
		case verb == spawnTask && s.CPUs == 1:
			return fmt.Errorf("spawn needs cpus of at least 2, as CPU 0 has the script")
		}
	}
	return nil
}

// readMode reads a mode that a script can expect, by the word for it in scripts.
func readMode(word string) (kprobes.Mode, error) {
	if word == "breakpoint" { // stepped, emulated or boosted
		return kprobes.Stepped, nil
	}
	mode, err := kprobes.ParseMode(word)
	switch mode {
	case kprobes.Gone, kprobes.Disabled, kprobes.Boosted, kprobes.Optimized, kprobes.Ftrace:
		return mode, err
	}
	return mode, fmt.Errorf("unknown mode %q: known are gone, disabled, breakpoint, boosted, optimized, ftrace, queued", word)
}

// named looks probes up by their names.
func (s *Scenario) named(words []string) ([]int, error) {
	var known []string
	for _, p := range s.Probes {
		known = append(known, p.Name)
	}
	return find("probe", known, words)
}

// watches looks watchpoints up by their names. They are numbered behind the probes.
func (s *Scenario) watches(words []string) ([]int, error) {
	var known []string
	for _, w := range s.Watches {
		known = append(known, w.Name)
	}
	found, err := find("watchpoint", known, words)
	for i := range found {
		found[i] += len(s.Probes)
	}
	return found, err
}

func find(what string, known, words []string) (found []int, err error) {
	for _, w := range words {
		at := slices.Index(known, w)
		if at < 0 {
			return nil, fmt.Errorf("no %s %q: known are %s%s", what, w, strings.Join(known, ", "), doc.Suggest(w, known))
		}
		found = append(found, at)
	}
	return found, nil
}
