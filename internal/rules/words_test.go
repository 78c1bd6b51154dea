package rules

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// homes are where an instruction set, its board, its probe rules and its part of the guest may be named by
// their registers, vectors, opcodes and controllers. The list of targets is a home too.
var homes = []string{
	"cpus/x86/", "cpus/ppc64/", "boards/pc/", "boards/pseries/", "kprobes/x86/", "kprobes/ppc64/",
	"workloads/kernel/arch/x86/", "workloads/kernel/arch/ppc64/", "workloads/bare/", "targets/targets.go", "targets/architectures.go",
	"cpus/arm/", "kprobes/arm/", "internal/armtext/", "internal/hostcode/", "boards/vexpress/", "workloads/kernel/arch/arm/", "image/object/",
	"image/linux/", "distro/",
	"judging/", "internal/native/", // code of hosts that are x86, beside its simulation
	"workloads/modules/", // modules as users write them name the registers that they print
}

// data are the folders of files that describe a machine or an experiment, and so name what it has.
var data = []string{"experiments/machines/", "races/scenarios/", "results/baselines/"}

// x86Words are registers, instructions, tables and controllers of x86, in lower case.
var x86Words = regexp.MustCompile(`^(?:r[abcd]x|r[sd]i|r[bsi]p|e[abcd]x|e[sd]i|e[bsi]p|[er]flags|cr[0-48]|dr[0-7]|` +
	`int3|iret[qd]?|pushf[qd]?|popf[qd]?|sti|swapgs|rdmsr|wrmsr|invlpg|lidt|lgdt|ltr|sysret|sysenter|hlt|rdtsc|` +
	`l?apic|x2apic|ioapic|sipi|tss|idt|gdt|msr|pae|efer|fsbase|gsbase|x86asm|modrm)$`)

// x86Names are controllers and tables inside longer names.
var x86Names = regexp.MustCompile(`APIC|SIPI|TSS|GDT|MSR|EFLAGS`)

// ppcWords are registers, instructions and tables of ppc64, in lower case.
var ppcWords = regexp.MustCompile(`^(?:srr[01]|sprg[0-3]?|dsisr|dabr|sdr1|slb|slbmte|slbi[ae]|rfid|m[tf]msrd?|m[tf]spr|m[tf]crf?|` +
	`lwarx|ldarx|stwcx|stdcx|rlwi(?:nm|mi)|isync|lwsync|eieio|icbi|dcb[fst]{1,2}|ppc64asm)$`)

// armWords are registers and instructions of ARM, in lower case.
var armWords = regexp.MustCompile(`^(?:[cs]psr|sctlr|ttbr[01]|ttbcr|dacr|[di]fsr|[di]far|vbar|tpidr[a-z]*|contextidr|` +
	`m[cr]{2}|mrrc|mcrr|(?:ld|st)rex[bdh]?|ldm(?:ia|ib|da|db)|stm(?:ia|ib|da|db)|armasm)$`)

// x86Bytes are opcodes in code.
var x86Bytes = regexp.MustCompile(`\b0x(?:cc|e9|eb|e8|9[cd]|cf|f[ab4]|cd|0f)\b`)

// allowed says which files may use which of the words, and why.
var allowed = map[string]struct{ words, reason string }{
	"cmd/kprobesim/candidates_test.go":   {"popf pushf", "keys of a machine description"},
	"cmd/kprobesim/rows_test.go":         {"iret", "a key of a machine description"},
	"cmd/kprobesim/stages_a32_test.go":   {"ldrex mrc msr", "reads the traces of ARM guests"},
	"cmd/kprobesim/stages_power_test.go": {"isync ldarx lwarx lwsync mfcr mfmsr mfspr mtcrf mtmsrd mtspr rfid", "reads the traces of ppc64 guests"},
	"cmd/kprobesim/stages_test.go":       {"dr6 int3 iret popf pushf rdmsr swapgs", "reads the traces of x86 guests"},
	"experiments/kinds/guest_test.go":    {"0x0f 0xcc 0xeb 0xf4 0xfa int3 lidt", "code of a hostile x86 guest"},
	"experiments/kinds/userloop_test.go": {"iret swapgs sysret", "reads the trace of an x86 guest"},
	"experiments/needed_test.go":         {"popf popfq pushf", "names of loops and keys of a machine description"},
	"experiments/machines_test.go":       {"mfcr", "a key of a machine description"},
	"experiments/loops_test.go":          {"0x0f 0xf4 eax ecx edi edx hlt rax rcx rdi rdx rsi", "runs loops that others timed on x86 processors"},
	"kprobes/many_irq_test.go":           {"sti", "a guest function of x86 is named so"},
	"results/outdir/manifest_test.go":    {"int3", "any name of a function, as a golden file has it"},
	"sim/trace_test.go":                  {"x86asm", "a second opinion on disassembly"},
	"workloads/functions.txt":            {"rip sti", "guest functions of x86 are named so"},
	"workloads/x86_image_test.go":        {"pushfd pushfq rip x86asm", "the shape of the x86 images"},
	"workloads/arm_image_test.go":        {"sti", "a guest function is named so"},
	"workloads/ppc64_image_test.go":      {"mfcr mfmsr mfspr mtspr ppc64asm rfid sti", "the shape of the ppc64 images"},
	"image/guest_test.go":                {"msr", "members of the registers of ppc64"},
	"smp/stop_test.go":                   {"cpsr msr", "whether interrupts are off on ppc64 and ARM"},
}

// isaNames are the names of instruction sets that exist.
var isaNames = regexp.MustCompile(`(?i)x86|i386|amd64|intel|ppc|powerpc`)

// isaNamed says which files of shared code, but tests, may name an instruction set, and why.
var isaNamed = map[string]string{
	"cmd/kprobesim/judge.go":              "the instruction set whose blocks are judged",
	"cmd/kprobesim/measure_kvm.go":        "the program of the emulator",
	"cmd/kprobesim/module.go":             "the kernel that a module is tried in when none is named",
	"experiments/exptest/own.go":          "names of the program's experiments, for tests",
	"experiments/exptest/toy.go":          "a made-up instruction set for tests, in files of a format that exists",
	"internal/hosttools/forbid_mapped.go": "a filter of system calls, whose numbers are those of one host",
	"internal/hosttools/forbid_none.go":   "the hosts without that filter",
	"experiments/compare-qemu.sh":         "runs an x86 kernel under qemu",
	"experiments/cross-check.sh":          "asks about the machines of one instruction set",
	"internal/waits/main.go":              "measures the main experiment and the boot of a packaged kernel",
	"image/image.go":                      "the formats of files that are known: data",
	"image/imagetest/imagetest.go":        "builds files of a format that exists, for tests",
	"image/func.go":                       "names the ABI whose function descriptors it describes",
	"internal/mutants/eras.go":            "a list: which code an era lacks",
	"mmu/doc.go":                          "names the manual that coherence was taken from",
	"cmd/kprobesim/plan.go":               "experiments by which hosts are compared",
	"paper/artifact.go":                   "the name of an experiment that a reader runs",
	"results/resultstest/sample.go":       "published figures of a machine, for tests",
	"races/scenario.go":                   "what a scenario means that names no instruction set",
	"workloads/functions.txt":             "a list: which functions an instruction set's images have",
	"workloads/workloads.go":              "an example of a name",
	"workloads/kernel/build.sh":           "what is built when nothing else is asked for",
	"workloads/images/list.txt":           "a list of images",
}

// TestSharedCodeNamesNoInstructionSet wants differences of instruction sets to be data: only the homes and a few
// lists name one.
func TestSharedCodeNamesNoInstructionSet(t *testing.T) {
	seen := map[string]bool{}
	for name, text := range codeFiles(t) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if m := isaNames.FindString(text); m != "" {
			seen[name] = true
			require.That(t, isaNamed[name] != "", "%s names %s: let it be a field of an instruction set's value, or a row of targets", name, m)
		}
	}
	for name := range isaNamed {
		require.That(t, seen[name], "%s names no instruction set any more: take its exception away", name)
	}
}

// TestSharedCodeNamesNoProcessor looks for words of one instruction set in every file of code outside of its
// homes.
func TestSharedCodeNamesNoProcessor(t *testing.T) {
	for name, text := range codeFiles(t) {
		words := processorWords(text)
		granted := strings.Fields(allowed[name].words)
		for _, w := range words {
			require.That(t, slices.Contains(granted, w), "%s: %s is a word of one instruction set: it belongs to %v", name, w, homes)
		}
		for _, w := range granted {
			require.That(t, slices.Contains(words, w), "%s: %s is not there any more: take its exception away", name, w)
		}
	}
	for name := range allowed {
		_, err := os.Stat(filepath.Join(root(t), filepath.FromSlash(name)))
		require.That(t, err == nil, "%s is gone: take its exception away", name)
	}
}

// processorWords returns the words of an instruction set in a text, sorted, each once.
func processorWords(text string) []string {
	var out []string
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	slices.Sort(words)
	for _, w := range slices.Compact(words) {
		if x86Words.MatchString(w) || ppcWords.MatchString(w) || armWords.MatchString(w) {
			out = append(out, w)
		}
	}
	for _, w := range append(x86Names.FindAllString(text, -1), x86Bytes.FindAllString(text, -1)...) {
		out = append(out, strings.ToLower(w))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// codeFiles returns the text of every file of code outside of the homes, but that of this package, which has
// the list.
func codeFiles(t *testing.T) map[string]string {
	t.Helper()
	base, out := root(t), map[string]string{}
	err := filepath.WalkDir(base, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == base {
			return err
		}
		name, err := filepath.Rel(base, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if skipped(d.Name()) || isBelow(name+"/", homes) || isBelow(name+"/", data) || name == "internal/rules" {
				return filepath.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".go", ".c", ".h", ".S", ".sh", ".lds", ".txt"}, path.Ext(name)) || isBelow(name, homes) {
			return nil
		}
		b, err := os.ReadFile(file)
		out[name] = string(b)
		return err
	})
	require.NoError(t, err)
	require.Need(t, len(out) >= 100, "only %d files of code were found", len(out))
	return out
}

func isBelow(name string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return strings.HasPrefix(name, f) })
}

// TestWordsAreFound tries the search.
func TestWordsAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"regs.rax = 0xCC // EFLAGS": "eflags rax", "op := 0xcc": "0xcc", "lapic_timer": "lapic", "NewLAPIC": "apic",
		"rsi, RDI": "rdi rsi", "strips the axis, description": "", "apic_timer_start(0xe9)": "0xe9 apic", "mov %cr3": "cr3", "stmdb sp!; TTBR0": "stmdb ttbr0",
		"a stack pointer; 0xcc00": "", "rfid; mfmsr": "mfmsr rfid", "x86asm.Decode": "x86asm", "wrapped": "",
	} {
		require.Equal(t, strings.Join(processorWords(text), " "), want, "%q: found", text)
	}
}

// placeMarks enclose the table of the places of an instruction set in CONTRIBUTING.md.
const placeMarks = "<!-- places of an instruction set -->"

// TestPlacesOfAnInstructionSet holds the list of what a new instruction set consists of: it names every home,
// and what it names exists.
func TestPlacesOfAnInstructionSet(t *testing.T) {
	_, rest, found := strings.Cut(read(t, "CONTRIBUTING.md"), placeMarks)
	table, _, closed := strings.Cut(rest, "<!-- end of places -->")
	require.Need(t, found && closed, "CONTRIBUTING.md has no table of the places of an instruction set")
	var named []string
	for _, row := range strings.Split(table, "\n") {
		cells := strings.Split(row, "|")
		if len(cells) != 5 {
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[3], -1) {
			named = append(named, m[1])
			require.That(t, exists(filepath.Join(root(t), m[1])), "the place %s does not exist", m[1])
		}
	}
	for _, home := range slices.Concat(homes, data, []string{
		"workloads/images/list.txt", "workloads/functions.txt", "image/image.go", "experiments/loops_test.go",
		"experiments/speed_test.go", "internal/rules", "docs/",
	}) {
		ok := slices.ContainsFunc(named, func(n string) bool { return strings.HasPrefix(n+"/", home) || n == home })
		require.That(t, ok, "the places of an instruction set in CONTRIBUTING.md lack %s", home)
	}
}
