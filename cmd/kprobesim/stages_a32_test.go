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
