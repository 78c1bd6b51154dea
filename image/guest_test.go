package image

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// TestGuestImages loads the images that the project ships and checks what the machine and package
// kprobes rely on.
func TestGuestImages(t *testing.T) {
	paths, err := filepath.Glob("../workloads/images/*.elf")
	require.Need(t, err == nil && len(paths) != 0, "no guest images: %v", err)
	for _, p := range paths {
		t.Run(filepath.Base(p), func(t *testing.T) { checkGuestImage(t, p) })
	}
}

func checkGuestImage(t *testing.T, path string) {
	b := require.Must(os.ReadFile(path))(t)
	im := require.Must(Load(filepath.Base(path), b))(t)
	require.That(t, len(im.Natives) != 0, "no natives")
	for _, name := range []string{
		"boot_stack_top", "start_kernel", "__kprobes_text_start", "__kprobes_text_end", "_end",
	} {
		mustSymbol(t, im, name)
	}
	for typ, paths := range map[string][]string{
		"kprobe":     {"hlist.next", "list.next", "nmissed", "addr", "ainsn.insn", "opcode", "flags"},
		"kretprobe":  {"kp.addr", "handler", "maxactive", "nmissed", "data_size", "free_instances"},
		"pt_regs":    registers[im.Machine],
		"list_head":  {"next", "prev"},
		"hlist_node": {"next", "pprev"},
	} {
		for _, path := range paths {
			f, err := field(im, typ, path)
			require.That(t, err == nil && f.Size != 0, "struct %s: %+v, %v", typ, f, err)
		}
	}
	for _, name := range []string{"TASK_DEAD", "THREAD_SIZE", "TIF_NEED_RESCHED", "PREEMPT_ACTIVE", "USER_STACK_SIZE"} {
		if _, err := im.Enum(name); err != nil {
			t.Error(err)
		}
	}
	for _, s := range im.Symbols {
		require.Need(t, !strings.HasPrefix(s.Name, "$"), "%q at %#x names nothing", s.Name, s.Addr)
	}
	checkFunctionsHaveLines(t, im)
}

// registers are some that handlers of probes read, by the names that the kernel gives them.
var registers = map[elf.Machine][]string{
	elf.EM_386:    {"ip", "sp", "flags", "ax", "di", "orig_ax"},
	elf.EM_X86_64: {"ip", "sp", "flags", "ax", "di", "orig_ax"},
	elf.EM_ARM:    {"uregs"},
	elf.EM_PPC64:  {"gpr", "nip", "msr", "link", "trap", "dar"},
}

// unwritten is a section of functions that the file does not hold, so it has no lines for them.
const unwritten = ".workload.crowd"

// checkFunctionsHaveLines holds every C function against the line table and the phases.
func checkFunctionsHaveLines(t *testing.T, im *Image) {
	t.Helper()
	functions, phases := 0, map[Phase]bool{}
	for _, s := range im.Symbols {
		if !s.Func || s.Size == 0 || s.Section == nativeSection || s.Section == unwritten {
			continue
		}
		functions++
		phases[im.Phase(s.Addr)] = true
		file, line, ok := im.Line(s.Addr)
		require.That(t, ok && line >= 1 && !strings.HasPrefix(file, "/") && !strings.HasPrefix(file, ".."), "%s at %#x comes from %q:%d, %v", s.Name, s.Addr, file, line, ok)
		base := filepath.Base(file)
		first, ok := im.LineIn(base, line, s.Addr, s.Addr+s.Size)
		next, again := im.LineIn(base, line, s.Addr+1, s.Addr+s.Size)
		_, none := im.LineIn(base, line, s.Addr, s.Addr)
		require.That(t, ok == (first == s.Addr) && (ok || strings.HasSuffix(base, ".S")) && !none && (!again || next > s.Addr && next < s.Addr+s.Size), "%s:%d is at %#x, %v, and at %#x", file, line, first, ok, next)
		got, off, _ := im.At(s.Addr)
		require.That(t, off == 0 && got.Addr == s.Addr, "At(%s) is %s+%#x", s.Name, got.Name, off)
	}
	for i, r := range im.lines.ranges {
		_, line, ok := im.Line(r.end)
		follows := i+1 < len(im.lines.ranges) && im.lines.ranges[i+1].start == r.end
		require.That(t, ok == follows && (!ok || line == int(im.lines.ranges[i+1].line)), "line %d ends at %#x, where line %d stands, %v", r.line, r.end, line, ok)
	}
	require.That(t, functions >= 50, "%d functions", functions)
	for _, p := range []Phase{PhaseEntry, PhaseDispatch, PhaseHandler, PhaseReturn, PhaseKretprobe, PhaseWorkload} {
		require.That(t, phases[p], "no function is in phase %v", p)
	}
}

func BenchmarkLoad(b *testing.B) {
	data := require.Must(os.ReadFile("../workloads/images/x86_64-2010.elf"))(b)
	for b.Loop() {
		require.NoError(b, require.Err(Load("x86_64-2010.elf", data)))
	}
}
