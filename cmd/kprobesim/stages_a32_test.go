package main

import (
	"regexp"
	"slices"
	"strings"
)

// armSpecials are moves from and to status and system registers, barriers, and returns from exceptions.
var armSpecials = []string{"mrs", "msr", "cps", "mrc", "dmb", "dsb", "sev", "clrex", "return"}

var (
	armCall   = regexp.MustCompile(`^blx?(?:eq|ne)? `)
	armReturn = regexp.MustCompile(`^bx\w* lr|^(?:pop|ldm)\w* .*\bpc\b|^mov\w* pc, lr`)
	armLoad   = regexp.MustCompile(`^(?:ldr|ldm|pop)`)
	armStore  = regexp.MustCompile(`^(?:str|stm|push)`)
	armList   = regexp.MustCompile(`\{(.*)\}`)
)

// armDialect is that of ARM. A load exclusive and the store that depends on it are one locked instruction. A call or
// a return whose condition fails leads nowhere. The copy of a displaced instruction is called, too.
func armDialect() *dialect {
	return &dialect{
		breakpoint: "undefined", special: armSpecials,
		sets: []string{`kernel.isa="arm"`, `machine="tc2-cortex-a15"`},
		turn: func(l, next *traceLine) int {
			switch {
			case next.fn == l.fn:
				return 0
			case armCall.MatchString(l.text):
				return 1
			case armReturn.MatchString(l.text):
				return -1
			}
			return 0
		},
		leaves: func(l *traceLine) bool { return armLeaves(l) && l.fn != "stub_undefined" },
		memory: func(l *traceLine) (loads, stores int) {
			switch {
			case armLoad.MatchString(l.text):
				return armWords(l.text), 0
			case armStore.MatchString(l.text):
				return 0, armWords(l.text)
			}
			return 0, 0
		},
		named: func(l *traceLine) string {
			name, _, _ := strings.Cut(l.text, " ")
			if strings.HasPrefix(name, "cps") {
				name = "cps" // cpsid, cpsie
			}
			switch {
			case armLeaves(l):
				return "return"
			case slices.Contains(armSpecials, name):
				return name
			}
			return ""
		},
		locked: func(l *traceLine) bool { return l.is("ldrex") },
	}
}

// armLeaves reports whether an instruction restores the status of an interrupted mode.
func armLeaves(l *traceLine) bool {
	return l.is("movs") && strings.HasPrefix(l.text, "movs pc") || armReturn.MatchString(l.text) && strings.Contains(l.text, "}^")
}

// armWords is how many words a load or store moves.
func armWords(text string) int {
	if list := armList.FindStringSubmatch(text); list != nil {
		return strings.Count(list[1], ",") + 1
	}
	return 1
}

// armStages lists the stages of ARM. By hand are counted: the vector and a stub of 11 instructions, about 20 of the
// frame, the look for a unit behind the instruction, and 5 of the way out, 55 to 60 together. A breakpoint's entry reads
// the status twice and writes it once; the lock of the hooks, the hook itself, and the way out each disable
// interrupts. Kernels of 2014 have the address of per-CPU data in a register, kernels of 2010 do not.
//
// The model has the stages of a kernel that prepares no step. Calls in kernels: the exception's C function, the walk
// along the hooks, the hook, the hit's, its handler. The function of a jprobe ends in a call of the hit's.
func armStages() []pathStage {
	const (
		narrow, wide, byHand = "isas-ppc64-2010", "overhead-power5-2017", 57
		locks                = "4 dmb, 2 dsb, 2 sev" // of the instances and of the bucket
		barriers             = "2 dmb, dsb, sev, clrex, 2 return"
	)
	return []pathStage{
		{"arm-2010", narrow, "k", atBreakpoint, "4 mrs, 4 msr, 3 cps, " + barriers, 1, 5, 154, byHand},
		{"arm-2010", narrow, "k", atEmulation, "mrs, msr", 0, 0, 0, 0},
		{"arm-2010", narrow, "j", atBreakpoint, "4 mrs, 4 msr, 3 cps, " + barriers, 1, 0, 296, byHand},
		{"arm-2010", narrow, "j", atJprobeEnd, "msr, return", 0, 0, 297, 0},
		{"arm-2010", narrow, "r", atEntry, "2 mrs, 2 msr, 2 cps, " + locks, 2, 0, 74, 0},
		{"arm-2010", narrow, "r", atReturn, "mrs, msr, cps, " + locks, 2, 0, 107, 6},
		{"arm-2014", narrow, "k", atBreakpoint, "4 mrs, 4 msr, 3 cps, mrc, " + barriers, 1, 5, 154, byHand},
		{"arm-2014", wide, "o", atDetour, "2 mrs, 2 msr, cps, 2 mrc", 0, 3, 63, 0},
		{"arm-2014", wide, "o", atEmulation, "mrs, msr", 0, 0, 0, 0},
		{"arm-2014", wide, "ro", atEntry, "2 mrs, 2 msr, 2 cps, " + locks, 2, 0, 74, 0},
		{"arm-2014", wide, "ro", atReturn, "mrs, msr, cps, mrc, " + locks, 2, 0, 107, 6},
	}
}
