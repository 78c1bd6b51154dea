package explaining

import (
	"fmt"

	"kprobesim/kprobes"
	"kprobesim/sim"
	"kprobesim/targets"
)

// Verdict is what a kernel says of a probe at an address, in words.
type Verdict struct {
	Addr        uint64 `json:"address"`
	Place       string `json:"place"` // function+offset
	Instruction string `json:"instruction,omitempty"`
	// Probe says that a probe may stand there. If not, Rule and Why say which rule forbids it, and Errno what
	// register_kprobe returns, as a positive number.
	Probe bool         `json:"probe"`
	Rule  kprobes.Rule `json:"rule,omitempty"`
	Errno int          `json:"errno,omitempty"`
	Why   string       `json:"why,omitempty"`
	// First is how the first hit runs, and Kind how later ones do: "stepped", "boosted", "emulated" or "ftrace". Learned
	// says that the first hit finds out whether it is Kind; if not, hits stay as the first. Exceptions is how many
	// exceptions a later hit takes unless it is optimized.
	First      string `json:"first,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Learned    bool   `json:"learned,omitempty"`
	Exceptions int    `json:"exceptions"`
	// Optimized says that a probe without a post handler is replaced by a jump. If not, Kept and KeptWhy say which rule
	// keeps its breakpoint.
	Optimized bool         `json:"optimized"`
	Kept      kprobes.Rule `json:"not_optimized,omitempty"`
	KeptWhy   string       `json:"not_optimized_why,omitempty"`
	// Cost is what a hit of its kind takes on the machine, where that was measured.
	Cost *Cost `json:"cost,omitempty"`

	first, then kprobes.Mode
}

// fill takes over what the rules say.
func (v *Verdict) fill(j kprobes.Verdict) {
	if d := j.Denied; d != nil {
		v.Rule, v.Why, v.Errno = d.Rule, d.Text, int(d.Errno)
		return
	}
	v.Probe, v.Learned = true, j.Learned
	v.first, v.then = j.First, j.Then
	v.First, v.Kind, v.Exceptions = j.First.String(), j.Then.String(), j.Then.Exceptions()
	if v.Optimized = j.Kept == nil; !v.Optimized {
		v.Kept, v.KeptWhy = j.Kept.Rule, j.Kept.Text
	}
}

// Mode is how a hit runs once the kernel has done what it does behind a registration and the first hit.
func (v *Verdict) Mode() kprobes.Mode {
	if v.Optimized {
		return kprobes.Optimized
	}
	return v.then
}

// Sentences say what the verdict is.
func (v *Verdict) Sentences() []string {
	if !v.Probe {
		return []string{fmt.Sprintf("no probe (%s, error %d): %s", v.Rule, v.Errno, v.Why)}
	}
	out := []string{map[kprobes.Mode]string{
		kprobes.Ftrace:   "a probe rests on ftrace: the function calls the handlers at its start",
		kprobes.Emulated: "a probe is a breakpoint, and the kernel does what the instruction would do",
		kprobes.Boosted:  "a probe is a breakpoint, and a copy of the instruction is followed by a jump back",
		kprobes.Stepped:  "a probe is a breakpoint, and a copy of the instruction is stepped",
	}[v.then] + ": " + counted(v.Exceptions)}
	switch {
	case v.Learned:
		out = append(out, "the first hit is "+v.First+", and so are all if the kernel's emulator does not know the instruction")
	case v.first != v.then:
		out = append(out, "the first hit is "+v.First)
	}
	switch {
	case v.Optimized:
		out = append(out, "a moment later it is a jump without an exception, unless it has a post handler")
	case v.then != kprobes.Ftrace:
		out = append(out, fmt.Sprintf("it stays a breakpoint (%s): %s", v.Kept, v.KeptWhy))
	}
	if v.Cost != nil {
		out = append(out, v.Cost.String())
	}
	return out
}

// counted says how many exceptions a hit takes.
func counted(n int) string {
	switch n {
	case 0:
		return "no exception"
	case 1:
		return "one exception"
	}
	return fmt.Sprintf("%d exceptions", n)
}

// Answer is what a kernel did when a probe was registered at a place.
type Answer struct {
	Errno int    `json:"errno"` // as a positive number; 0 where it took the probe
	Mode  string `json:"mode,omitempty"`
	// Kept is why the kernel has no jump there.
	Kept kprobes.Rule `json:"not_optimized,omitempty"`
}

// String says it in words.
func (a Answer) String() string {
	if a.Errno != 0 {
		return fmt.Sprintf("error %d", a.Errno)
	}
	if a.Kept == "" {
		return "a probe that is " + a.Mode
	}
	return fmt.Sprintf("a probe that is %s (%s)", a.Mode, a.Kept)
}

// Agrees reports whether the kernel did what the verdict says. A probe that nobody has hit yet runs as its first hit.
func (a Answer) Agrees(v *Verdict) bool {
	if !v.Probe {
		return a.Errno == v.Errno
	}
	if v.Optimized {
		return a == Answer{Mode: kprobes.Optimized.String()}
	}
	return a == Answer{Mode: v.First, Kept: v.Kept} || a == Answer{Mode: v.Kind, Kept: v.Kept}
}

// Verify boots the kernel, registers a probe at each place, waits for the optimizer, looks at the probe and unregisters
// it.
func (k *Kernel) Verify(sites []uint64) ([]Answer, error) {
	out, last := make([]Answer, len(sites)), uint64(0)
	err := k.run(func(sys *targets.System, c *sim.Call) error {
		for i, at := range sites {
			last = at
			var err error
			if out[i], err = ask(sys.Probes, c, at); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil { // the machine may also have ended on the way
		return nil, fmt.Errorf("with a probe at %s: %w", k.point.Image.SymbolText(last), err)
	}
	return out, nil
}

// ask registers one probe. Only one that will be a jump stays for long: a probe that steps between an atomic load and its
// store takes the reservation away each time, and the kernel's loops around such pairs would never end.
func ask(k *kprobes.Kprobes, c *sim.Call, at uint64) (Answer, error) {
	p, err := k.Add(c, kprobes.Spec{Kind: kprobes.Kprobe, Addr: at, Handler: "handler_empty"})
	if errno, other := errnoOf(err); other != nil || errno != 0 {
		return Answer{Errno: int(errno)}, other
	}
	st, err := k.State(p.Addr)
	if err == nil && st.Queued {
		if err = k.WaitOptimizer(c); err == nil {
			st, err = k.State(p.Addr)
		}
	}
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Mode: st.Mode.String()}
	if st.Refusal != nil {
		a.Kept = st.Refusal.Rule
	}
	return a, k.Remove(c, p)
}
