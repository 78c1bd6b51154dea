package main

import (
	"regexp"
	"slices"
	"strings"
)

// powerSpecials are moves from and to special registers, what orders accesses, and what ends an exception.
var powerSpecials = []string{"mfspr", "mtspr", "mfcr", "mtcrf", "mfmsr", "mtmsrd", "isync", "lwsync", "sync", "rfid"}

var (
	powerLoad = regexp.MustCompile(`^l(?:[bhwd]|[hw][az]|bz|[wd]ar)[a-z]* .*\(|^l[a-z]+x r|^l[wd]arx`)
	// A conditional return, which may not be taken.
	powerReturn = regexp.MustCompile(`^b(?:eq|ne|lt|gt|le|ge|so|ns)lr`)
	powerStore  = regexp.MustCompile(`^st[a-z.]+ `)
)

// powerDialect is that of ppc64. A reservation and the store that depends on it are one locked instruction.
func powerDialect() *dialect {
	return &dialect{
		breakpoint: "program", step: "trace", special: powerSpecials,
		turn: func(l, next *traceLine) int {
			switch {
			case l.is("bl", "bctrl"):
				return 1
			case l.is("blr"), powerReturn.MatchString(l.text) && next.fn != l.fn:
				return -1
			}
			return 0
		},
		leaves: func(l *traceLine) bool { return l.fn == "leave" && l.is("rfid") },
		memory: func(l *traceLine) (loads, stores int) {
			if powerLoad.MatchString(l.text) {
				loads = 1
			}
			if powerStore.MatchString(l.text) { // also a store that depends on a reservation
				stores = 1
			}
			return loads, stores
		},
		named: func(l *traceLine) string {
			name, _, _ := strings.Cut(l.text, " ")
			if !slices.Contains(powerSpecials, name) {
				return ""
			}
			return name
		},
		locked: func(l *traceLine) bool { return l.is("lwarx", "ldarx") },
	}
}

// powerStages lists the stages of ppc64. By hand are counted, of a kernel without preemption: a stub of 2
// instructions and the prolog of 17 with translation off, the common prolog of 42, 24 that save the other
// registers, 64 of the way out, and between them 8 for a breakpoint and 4 for a step. A breakpoint's entry
// restores the interrupt flag by one mfmsr and one mtmsrd more than a step's. The lock of all hits is taken
// behind a breakpoint, with isync, and dropped with lwsync behind a step, or behind a breakpoint without one.
func powerStages() []pathStage {
	const experiment = "overhead-power5"
	const shallower = 17 // as on x86
	special := func(trap bool, locks string) string {
		if trap {
			return "4 mfspr, 5 mtspr, mfcr, mtcrf, 4 mfmsr, 3 mtmsrd, " + locks + "2 rfid"
		}
		return "4 mfspr, 5 mtspr, mfcr, mtcrf, 3 mfmsr, 2 mtmsrd, " + locks + "2 rfid"
	}
	// What a return probe's locks add in kernels with two: both are taken at the entry with interrupts disabled,
	// by one mfmsr and two mtmsrd each, and at the return only the bucket's is.
	const (
		locks    = "2 isync, 2 lwsync"
		entry    = "2 mfmsr, 4 mtmsrd, " + locks
		trapBack = "4 mfspr, 5 mtspr, mfcr, mtcrf, 5 mfmsr, 5 mtmsrd, " + locks + ", 2 rfid"
		detour   = "mfcr, mtcrf, 2 mfmsr, 2 mtmsrd" // its handlers run with interrupts disabled
		jumpBack = "mfcr, mtcrf, 3 mfmsr, 4 mtmsrd, " + locks
		by2011   = experiment + "-2011"
		by2017   = experiment + "-2017"
	)
	return []pathStage{
		{"ppc64-2005", experiment, "k", atBreakpoint, special(true, "isync, "), 1, 6, 240 - shallower, 157},
		{"ppc64-2005", experiment, "k", atStep, special(false, "lwsync, "), 0, 5, 184 - shallower, 153},
		{"ppc64-2005", experiment, "k", atEmulation, "", 0, 0, 12, 0},
		{"ppc64-2005", experiment, "j", atBreakpoint, special(true, "isync, "), 1, 0, 397 - shallower, 157},
		{"ppc64-2005", experiment, "j", atJprobeEnd, special(true, ""), 0, 0, 392 - shallower, 157},
		{"ppc64-2005", experiment, "r", atEntry, "", 0, 0, 0, 0},
		{"ppc64-2005", experiment, "r", atReturn, special(true, "isync, lwsync, "), 1, 0, 0, 157},
		{"ppc64-2010", experiment, "k", atBreakpoint, special(true, ""), 0, 8, 240, 157},
		{"ppc64-2010", experiment, "k", atStep, special(false, ""), 0, 0, 184, 153},
		{"ppc64-2010", experiment, "j", atBreakpoint, special(true, ""), 0, 0, 397, 157},
		{"ppc64-2010", experiment, "j", atJprobeEnd, special(true, ""), 0, 0, 392, 157},
		{"ppc64-2010", experiment, "r", atEntry, entry, 2, 0, 112, 0},
		{"ppc64-2010", experiment, "r", atReturn, trapBack, 2, 0, 0, 157},
		{"ppc64-2011", by2011, "k", atBreakpoint, special(true, ""), 0, 8, 240, 157},
		{"ppc64-2011", by2011, "k", atStep, special(false, ""), 0, 0, 184, 153},
		{"ppc64-2011", by2011, "e", atBreakpoint, special(true, ""), 0, 8, 234, 157},
		{"ppc64-2011", by2011, "e", atEmulation, "mfcr", 0, 0, 0, 0},
		{"ppc64-2011", by2011, "re", atEntry, entry, 2, 0, 112, 0},
		{"ppc64-2011", by2011, "re", atReturn, trapBack, 2, 0, 0, 157},
		{"ppc64-2017", by2017, "e", atBreakpoint, special(true, ""), 0, 8, 234, 157},
		{"ppc64-2017", by2017, "o", atDetour, detour, 0, 3, 101, 0},
		{"ppc64-2017", by2017, "o", atEmulation, "mfcr", 0, 0, 0, 0},
		{"ppc64-2017", by2017, "ro", atEntry, entry, 2, 0, 112, 0},
		{"ppc64-2017", by2017, "ro", atReturn, jumpBack, 2, 0, 0, 0},
	}
}
