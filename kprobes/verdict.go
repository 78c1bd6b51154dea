package kprobes

// Verdict says how a kernel answers a probe at an address. It applies the rules of a registration, in the same order, and
// registers nothing.
type Verdict struct {
	Addr   uint64
	Denied *Denial // which rule keeps every probe away; nil where one may stand
	// First is how the first hit runs, and Then how later ones do, without a post handler.
	First, Then Mode
	// Kept is why the breakpoint stays; nil where a jump replaces it.
	Kept *Refusal
	// Retried says that the address is in a pair of a reserving load and a conditional store. An exception takes the
	// reservation away, so a loop around the pair does not end as long as a breakpoint stands in it.
	Retried bool
}

// Exceptions is how many exceptions a hit takes: none where the text leads to the handlers, and one more than the
// breakpoint's where the instruction is stepped.
func (m Mode) Exceptions() int {
	switch m {
	case Stepped:
		return 2
	case Emulated, Boosted:
		return 1
	}
	return 0
}

// Judge applies the rules of registration to an address. Handlers, switches and other probes, which come and go, are
// left out, and so is the lack of memory. The error is a failure to read guest memory.
func (k *Kprobes) Judge(addr uint64) (Verdict, error) {
	v := k.judge(addr)
	return v, k.m.take()
}

func (k *Kprobes) judge(addr uint64) Verdict {
	v := Verdict{Addr: addr}
	if k.absent {
		v.Denied = deny(RuleAbsent, ENOSYS, addr, "the kernel is built without Kprobes")
		return v
	}
	if v.Denied = k.barred(addr); v.Denied != nil {
		return v
	}
	code, denied := k.codeAt(addr)
	switch {
	case denied != nil:
		v.Denied = denied
	case k.entryAt(addr) == addr:
		v.First, v.Then = Ftrace, Ftrace
		v.Kept = Refuse(RuleFtrace, addr, "the function's first instruction calls the handlers already")
	default:
		k.judgeCode(&v, code)
	}
	return v
}

// judgeCode says how hits run the instruction at the start of code, and whether a jump replaces it.
func (k *Kprobes) judgeCode(v *Verdict, code []byte) {
	cp, err := k.copyOf(code, v.Addr, k.sym.slots.Start)
	if err != nil {
		errno, _ := err.(Errno)
		v.Denied = deny(RuleNotCopied, errno, v.Addr, "the instruction can be neither copied nor emulated")
		return
	}
	v.First, v.Then = k.arch.First, k.arch.First
	if cp.Runs != noMode {
		v.First, v.Then = cp.Runs, cp.Runs
	}
	for _, m := range cp.Members {
		if m.Member == k.arch.Learned && (m.Number == 0 || cp.Leads && k.boosts()) { // the guest changes it at the first hit
			k.judgeLearned(v, code)
		}
	}
	v.Kept = k.judgeJump(v.Addr)
	v.Retried = v.Then.Exceptions() > 0 && k.reserved(v.Addr)
}

// judgeLearned says what the first hit finds out. One that asks the emulator is emulated itself.
func (k *Kprobes) judgeLearned(v *Verdict, code []byte) {
	switch {
	case k.arch.Emulates == nil:
		v.Then = k.arch.Then
	case k.arch.Emulates(k.era.Year, code):
		v.First, v.Then = k.arch.Then, k.arch.Then
	}
}

// reserved reports whether an address is in a pair of a reserving load and a conditional store, ends included.
func (k *Kprobes) reserved(addr uint64) bool {
	fn, ok := k.text(addr)
	if !ok || k.arch.Reserves == nil {
		return false
	}
	open := false
	for at := fn.Start; at < fn.End(); at += k.arch.Align {
		switch k.arch.Reserves(fn.Code[at-fn.Start:]) {
		case ReservingLoad:
			open = at <= addr
		case ConditionalStore:
			if open && at >= addr {
				return true
			}
			open = false
		}
	}
	return false
}

// judgeJump says why no jump replaces a breakpoint.
func (k *Kprobes) judgeJump(addr uint64) *Refusal {
	if k.jump == nil {
		return Refuse(RuleUnsupported, 0, "kernels of %d have no jump optimization", k.era.Year)
	}
	if refused := k.keptBreakpoint(addr); refused != nil {
		return refused
	}
	fn, _ := k.text(addr)
	region, refused := k.regionAt(fn, addr)
	if refused != nil {
		return refused
	}
	return k.reaches(0, region, k.sym.detours.Start)
}
