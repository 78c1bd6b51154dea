package kprobes

import (
	"fmt"
	"slices"
)

// Kind says what is registered. The zero value is a kprobe.
type Kind uint8

// The kinds of probes.
const (
	Kprobe    Kind = iota // struct kprobe: handlers around an instruction
	Kretprobe             // struct kretprobe: a handler for the return of a function
	Jprobe                // struct jprobe: a function with the arguments of the probed one
)

// kindWords are the names of the kinds, by their numbers.
func kindWords() []string { return []string{"kprobe", "kretprobe", "jprobe"} }

// String is the kind's word.
func (k Kind) String() string { return word(kindWords(), uint8(k), "kind") }

// ParseKind reads a kind's word. The error names the words that there are.
func ParseKind(s string) (Kind, error) {
	i, err := parse(kindWords(), s, "kind of probe")
	return Kind(i), err
}

// Mode is how a probe is armed, and how the probed instruction runs at a hit. The zero value is none.
type Mode uint8

// The modes of a probe. One that can be boosted is Stepped until its first hit has been stepped, as the
// guest writes the jump back only then.
const (
	noMode    Mode = iota
	Gone           // not registered, or in text that has vanished
	Disabled       // registered and not armed
	Stepped        // breakpoint; the instruction is single-stepped out of line
	Emulated       // breakpoint; the kernel does what the instruction would do
	Boosted        // breakpoint; the instruction runs out of line and a jump leads back
	Optimized      // jump to a detour buffer
	Ftrace         // call in the place of the nop by which a function begins
)

// modeWords are the names of the modes, by their numbers.
func modeWords() []string {
	return []string{"none", "gone", "disabled", "stepped", "emulated", "boosted", "optimized", "ftrace"}
}

// String is the mode's word.
func (m Mode) String() string { return word(modeWords(), uint8(m), "mode") }

// ParseMode reads a mode's word. The error names the words that there are.
func ParseMode(s string) (Mode, error) {
	i, err := parse(modeWords()[Gone:], s, "mode of a probe")
	if err != nil {
		return noMode, err
	}
	return Gone + Mode(i), nil
}

func word(words []string, i uint8, what string) string {
	if int(i) < len(words) {
		return words[i]
	}
	return fmt.Sprintf("%s(%d)", what, i)
}

func parse(words []string, s, what string) (int, error) {
	i := slices.Index(words, s)
	if i < 0 {
		return 0, fmt.Errorf("unknown %s %q: known are %q", what, s, words)
	}
	return i, nil
}
