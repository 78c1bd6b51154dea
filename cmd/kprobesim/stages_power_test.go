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
