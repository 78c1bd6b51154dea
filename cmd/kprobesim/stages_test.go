package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// dialect holds the facts of an instruction set that counting needs.
type dialect struct {
	breakpoint, step string   // exceptions, as traces name them; there may be no step
	special          []string // names of special instructions in their order
	sets             []string // what else an experiment of another instruction set is told
	// turn is 1 for a call and -1 for a return; next is the instruction that came behind it.
	turn   func(l, next *traceLine) int
	leaves func(l *traceLine) bool // it is the last instruction of an exception
	memory func(l *traceLine) (loads, stores int)
	named  func(l *traceLine) string // one of special, "" for none
	locked func(l *traceLine) bool
}

// dialects has one dialect an instruction set, by the beginning of the names of its images.
func dialectOf(image string) *dialect {
	switch {
	case strings.HasPrefix(image, "ppc64-"):
		return powerDialect()
	case strings.HasPrefix(image, "arm-"):
		return armDialect()
	}
	return &dialect{
		breakpoint: "#BP", step: "#DB", special: specials,
		turn:   (*traceLine).turns,
		leaves: func(l *traceLine) bool { return l.is("iret") },
		memory: (*traceLine).memory, named: (*traceLine).special,
		locked: func(l *traceLine) bool {
			return strings.HasPrefix(l.text, "lock ") || l.is("xchg") && strings.Contains(l.text, "(")
		},
	}
}

// traceLine is one instruction of a trace.
type traceLine struct {
	*dialect
	phase string // that its time is booked on
	fn    string // symbol
	off   string // in it, in hexadecimal
	first bool   // it is the symbol's first instruction
	text  string // disassembly
	trap  string // the exception that it raised, "" for none
	depth int    // 1 for a call, -1 for a return
}

var (
	lineForm = regexp.MustCompile(`^ *\S+ +\S+ +\d+ (\w+) +0x[0-9a-f]+ (\w+)\+0x([0-9a-f]+) +(.*)$`)
	trapForm = regexp.MustCompile(`exception (#\w+|[a-z]+)`)
	// A segment register is loaded. One that is stored is as cheap as any other.
	segmentForm = regexp.MustCompile(`,%[def]s$|^pop[lq]? +%[def]s$`)
)

// traces keeps the output of `kprobesim trace`, by its arguments: a hit has several stages, and two tests read them.
var traces = map[string]string{}

// tracedHit returns the instructions of a warm hit.
func tracedHit(t *testing.T, experiment, point, image string) (lines []traceLine) {
	t.Helper()
	_, era, _ := strings.Cut(image, "-")
	words := dialectOf(image)
	args := []string{"trace", experiment, "--point", point}
	for _, s := range append(words.sets, fmt.Sprintf("kernel.image=%q", image), fmt.Sprintf("kernel.era=%q", era[:4])) {
		args = append(args, "--set", s)
	}
	said, kept := traces[strings.Join(args, " ")]
	if !kept {
		code, stdout, stderr := command(nil, args...)
		require.Need(t, code == exitOK, "%s, %s of %s: exit code %d: %s", image, point, experiment, code, stderr)
		said = stdout
		traces[strings.Join(args, " ")] = said
	}
	for line := range strings.Lines(said) {
		m := lineForm.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		l := traceLine{dialect: words, phase: m[1], fn: m[2], off: m[3], first: m[3] == "0"}
		l.text, _, _ = strings.Cut(m[4], "  ")
		if trap := trapForm.FindStringSubmatch(m[4]); trap != nil {
			l.trap = trap[1]
		}
		lines = append(lines, l)
	}
	for i := range lines[:max(len(lines)-1, 0)] {
		lines[i].depth = lines[i].turn(&lines[i], &lines[i+1])
	}
	return lines
}

// turns tells calls and returns of x86 apart from the rest.
func (l *traceLine) turns(*traceLine) int {
	switch {
	case l.is("call"):
		return 1
	case l.is("ret"):
		return -1
	}
	return 0
}

// is reports whether the instruction has one of the names; prefixes do not count.
func (l *traceLine) is(names ...string) bool {
	f := strings.Fields(l.text)
	for len(f) > 1 && (f[0] == "lock" || strings.HasPrefix(f[0], "rep")) {
		f = f[1:]
	}
	return slices.ContainsFunc(names, func(n string) bool { return f[0] == n || f[0] == n+"l" || f[0] == n+"q" })
}

// The stages of a hit. An exception's begins behind the instruction that raises it and ends with iret. The
// entry of a return probe is a part of the breakpoint's: its pre handler with all that it calls.
const (
	atBreakpoint = "breakpoint"
	atStep       = "step"
	atJprobeEnd  = "end of a jprobe's function"
	atEntry      = "return probe, entry"
	atReturn     = "return probe, return"
	atDetour     = "detour"
	atEmulation  = "emulation of the instruction"
	atCopyEnd    = "breakpoint behind the copy"
	atEntryCall  = "call at function entry"
)

// emulators are the functions that do what the displaced instruction would. What they execute depends on that
// instruction, so it is a stage of its own and no part of the one that calls it.
var emulators = []string{"emulate_displaced", "emulate_to_d", "emulate_jcc"}

// emulates reports whether the emulation begins.
func (l *traceLine) emulates() bool { return l.first && slices.Contains(emulators, l.fn) }

// stageOf cuts a stage out of a hit.
func stageOf(lines []traceLine, stage string) []traceLine {
	from, to := -1, len(lines)
	for i := range lines {
		l := &lines[i]
		if from < 0 {
			from = l.begins(stage, i)
			continue
		}
		if l.ends(stage) {
			to = i + 1
			break
		}
	}
	if from < 0 {
		return nil
	}
	if stage == atEntry || stage == atEmulation {
		return callFrom(lines[from:])
	}
	return unemulated(lines[from:to])
}

// unemulated is a stage without the calls of the emulator.
func unemulated(lines []traceLine) (out []traceLine) {
	for i := 0; i < len(lines); i++ {
		if lines[i].emulates() {
			i += len(callFrom(lines[i:])) - 1
			out[len(out)-1].depth = 0 // the call that led there
			continue
		}
		out = append(out, lines[i])
	}
	return out
}

// begins returns where a stage begins if instruction i says so, else -1.
func (l *traceLine) begins(stage string, i int) int {
	trapped := map[string][]string{
		atBreakpoint: {"bench_target", "work_jcc_first"}, atCopyEnd: {"__slots_start"},
		atJprobeEnd: {"jprobe_return"}, atReturn: {"kretprobe_trampoline"},
	}
	switch {
	case stage == atStep && l.trap == l.step && l.step != "", l.trap == l.breakpoint && slices.Contains(trapped[stage], l.fn):
		return i + 1
	case stage == atReturn && l.fn == "kretprobe_trampoline" && l.first,
		stage == atEntry && l.fn == "return_probe_entered" && l.first,
		stage == atDetour && l.fn == "__detours_start",
		stage == atEntryCall && l.fn == "entry_trampoline" && l.first,
		stage == atEmulation && l.emulates(),
		stage == atJprobeEnd && l.step == "" && l.fn == "jprobe_return" && l.first: // a call and no exception
		return i
	}
	return -1
}

// ends reports whether an instruction is the last of a stage.
func (l *traceLine) ends(stage string) bool {
	switch stage {
	case atDetour:
		return l.fn == "__detours_start" && (l.is("jmp") || strings.HasPrefix(l.text, "b ") || armReturn.MatchString(l.text))
	case atEntryCall:
		return l.fn == "entry_trampoline" && l.is("ret")
	case atReturn:
		return l.leaves(l) || l.fn == "kretprobe_trampoline" && (l.is("ret", "blr") || armReturn.MatchString(l.text))
	}
	return l.leaves(l)
}

// callFrom returns the call that begins with the first line: up to its return.
func callFrom(lines []traceLine) []traceLine {
	depth := 1
	for i := range lines {
		depth += lines[i].depth
		if depth == 0 {
			return lines[:i+1]
		}
	}
	return lines
}

// stageCount counts what the instructions of a stage do.
type stageCount struct {
	instructions, loads, stores, locked int
	c, depth                            int            // instructions of C, and how deep its calls go
	special                             map[string]int // by name: privileged instructions, flags, segment registers
}

// specials are the names in their order.
var specials = []string{"segment", "rdmsr", "swapgs", "dr6 read", "dr6 write", "cli", "pushf", "popf", "iret"}

func countStage(lines []traceLine) stageCount {
	n := stageCount{instructions: len(lines), special: map[string]int{}}
	for i := range lines {
		l := &lines[i]
		load, store := l.dialect.memory(l)
		n.loads += load
		n.stores += store
		if l.locked(l) {
			n.locked++
		}
		if s := l.named(l); s != "" {
			n.special[s]++
		}
	}
	roots := append([]string{
		"do_int3", "do_debug", "do_program_check", "do_single_step", "do_undefined", "function_returned", "detour_called",
		"return_probe_entered", "probe_hit", "entry_hit",
	}, emulators...)
	at := slices.IndexFunc(lines, func(l traceLine) bool { return l.first && slices.Contains(roots, l.fn) })
	if at < 0 {
		return n
	}
	code := callFrom(lines[at:])
	n.c = len(code)
	depth := 1
	for i := range code {
		n.depth = max(n.depth, depth)
		depth += code[i].depth
	}
	return n
}

// special names an instruction that is not of the common kind, "" for others.
func (l *traceLine) special() string {
	f := strings.Fields(l.text)
	switch {
	case l.is("mov") && strings.Contains(l.text, ",%db6"), l.is("mov") && strings.Contains(l.text, ",%dr6"):
		return "dr6 write"
	case l.is("mov") && (strings.Contains(l.text, "%db6,") || strings.Contains(l.text, "%dr6,")):
		return "dr6 read"
	case segmentForm.MatchString(l.text):
		return "segment"
	case slices.Contains(specials, f[0]):
		return f[0]
	}
	for _, s := range specials {
		if l.is(s) {
			return s
		}
	}
	return ""
}

// memory counts loads and stores of an instruction. Elements of a repeated one count once; what the
// processor itself stores at an exception does not count.
func (l *traceLine) memory() (loads, stores int) {
	_, operands, _ := strings.Cut(l.text, " ")
	source, target := operands, ""
	if i := strings.LastIndex(operands, ","); i >= 0 && !strings.HasSuffix(operands, ")") {
		source, target = operands[:i], operands[i+1:]
	} else if i := lastOperand(operands); i > 0 {
		source, target = operands[:i], operands[i+1:]
	}
	refers := func(s string) int {
		if strings.Contains(s, "(") || strings.Contains(s, "s:0x") {
			return 1
		}
		return 0
	}
	from, to := refers(source), refers(target)
	switch {
	case l.is("iret") && strings.HasSuffix(l.text, "q"):
		return 5, 0
	case l.is("iret"):
		return 3, 0
	case l.is("movs", "movsb"):
		return 1, 1
	case l.is("lea", "nop"):
		return 0, 0
	case l.is("push", "call"):
		return from, 1
	case l.is("pushf"):
		return 0, 1
	case l.is("pop"):
		return 1, from
	case l.is("popf", "ret", "leave"):
		return 1, 0
	case l.is("cmp", "test"), strings.HasPrefix(l.text, "j"), l.is("bt"):
		return from + to, 0
	case strings.HasPrefix(strings.TrimPrefix(l.text, "lock "), "mov"):
		return from, to
	case target == "": // inc, dec, neg, set
		if strings.HasPrefix(l.text, "set") {
			return 0, from
		}
		return from, from
	}
	return from + to, to
}

// lastOperand finds the comma in front of the last operand, which may have commas in its brackets.
func lastOperand(operands string) int {
	inside := 0
	for i := len(operands) - 1; i >= 0; i-- {
		switch operands[i] {
		case ')':
			inside++
		case '(':
			inside--
		case ',':
			if inside == 0 {
				return i
			}
		}
	}
	return -1
}

// pathStage is a stage of a kernel's hit with what is known of it from elsewhere.
type pathStage struct {
	image, experiment, point, stage string

	special string // privileged instructions and segment loads of kernels of the year, as counted by hand
	locked  int
	depth   int // of calls in kernels of the year, 0 for not known
	model   int // instructions of C in the model of the path, 0 for none
	asm     int // instructions of entry and exit in kernels of the year, as counted by hand; 0 for none
}

// pathStages reads the stages from testdata/stages.list.
func pathStages(t *testing.T) (list []pathStage) {
	t.Helper()
	for line := range strings.Lines(read(t, filepath.Join("testdata", "stages.list"))) {
		w := strings.Split(strings.TrimSuffix(line, "\n"), " | ")
		if len(w) != 9 {
			continue // a comment
		}
		s := pathStage{image: w[0], experiment: w[1], point: w[2], stage: w[3], special: w[4]}
		for i, n := range []*int{&s.locked, &s.depth, &s.model, &s.asm} {
			*n = require.Must(strconv.Atoi(w[5+i]))(t)
		}
		list = append(list, s)
	}
	return list
}

// list writes counts in the order of their names: the names in keep alone, or all if it is nil.
func (n *stageCount) list(names []string, keep func(string) bool) string {
	var out []string
	for _, s := range names {
		switch c := n.special[s]; {
		case c == 0 || keep != nil && !keep(s):
		case c == 1:
			out = append(out, s)
		default:
			out = append(out, fmt.Sprintf("%d %s", c, s))
		}
	}
	return strings.Join(out, ", ")
}

// hold compares a stage with what is known of it: special instructions of the kinds that were counted, locked
// ones, the depth of calls, and that instructions of C are near the model's where no function of a lock is among them. A cli that
// only hand counts of 2010 name is not held against other years.
func (s *pathStage) hold(t *testing.T, n *stageCount) {
	t.Helper()
	counted := func(name string) bool {
		return name != "pushf" && name != "popf" && (name != "cli" || strings.Contains(s.special, "cli"))
	}
	require.Equal(t, n.list(dialectOf(s.image).special, counted), s.special, "%s, %s of %s", s.image, s.stage, s.point)
	require.That(t, n.locked == s.locked, "%s, %s of %s: %d locked instructions, want %d", s.image, s.stage, s.point, n.locked, s.locked)
	require.That(t, n.depth == s.depth || s.depth == 0, "%s, %s of %s: calls go %d deep, want %d", s.image, s.stage, s.point, n.depth, s.depth)
	if near := 0.3 * float64(s.model); s.stage != atEntry && s.stage != atReturn && s.model != 0 &&
		(float64(n.c) < float64(s.model)-near || float64(n.c) > float64(s.model)+near) {
		t.Errorf("%s, %s of %s: %d instructions of C, the model has %d", s.image, s.stage, s.point, n.c, s.model)
	}
}

// stagesTable counts what each stage of a hit executes, in the trace.
func stagesTable(t *testing.T) string {
	t.Helper()
	out := "image,probe,stage,instructions of C,model,other instructions,by hand,depth of calls,in kernels,loads,stores,locked,\"privileged, flags, segments\"\n"
	known := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	for _, s := range pathStages(t) {
		lines := stageOf(tracedHit(t, s.experiment, s.point, s.image), s.stage)
		require.That(t, len(lines) != 0, "%s: a hit of %s has no stage %q", s.image, s.point, s.stage)
		n := countStage(lines)
		s.hold(t, &n)
		out += fmt.Sprintf("%s,%s,%q,%d,%s,%d,%s,%d,%s,%d,%d,%d,%q\n", s.image, s.point, s.stage, n.c,
			known(s.model), n.instructions-n.c, known(s.asm), n.depth, known(s.depth), n.loads, n.stores, n.locked, n.list(dialectOf(s.image).special, nil))
	}
	return out
}

// TestStages holds the stages against what is known of them, without the documents.
func TestStages(t *testing.T) {
	alone(t)
	stagesTable(t)
}
