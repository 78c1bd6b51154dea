package workloads

import (
	"debug/dwarf"
	"debug/elf"
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"kprobesim/internal/require"
)

func holdRequiredSymbols(t *testing.T, _ Image, f *elf.File) {
	lacking := maps.Clone(symbolsOf(t, f))
	has := func(name string) bool { _, ok := lacking[name]; return ok }
	if err := Missing(has); err != nil {
		t.Error(err)
	}
	delete(lacking, "timer_start")
	require.Error(t, Missing(has), "no symbol timer_start, which scheduling needs", "without timer_start")
}

// constants lists what Go code reads of the guest's headers: their values are the kernel's, and each is
// an enumerator, because debug information knows no macros.
var constants = map[string]int64{
	"TIF_NEED_RESCHED": 3, "HARDIRQ_OFFSET": 0x10000, "HARDIRQ_MASK": 0x3ff0000,
	"PREEMPT_ACTIVE": 0x10000000, "TASK_RUNNING": 0, "TASK_INTERRUPTIBLE": 1, "TASK_UNINTERRUPTIBLE": 2,
	"TASK_DEAD": 64, "HIT_HANDLER": 1, "HIT_COPY": 2, "HIT_NESTED_COPY": 4, "HIT_AFTER": 8,
	"KPROBE_FLAG_GONE": 1, "KPROBE_FLAG_DISABLED": 2, "KPROBE_FLAG_OPTIMIZED": 4,
}

// stackSizes are THREAD_SIZE, the bytes of a kernel stack.
var stackSizes = map[string]int64{"i386": 8192, "x86_64": 8192, "ppc64": 16384, "arm": 8192}

func holdConstants(t *testing.T, im Image, f *elf.File) {
	d := require.Must(f.DWARF())(t)
	found := enumerators(t, d)
	values := maps.Clone(constants)
	values["THREAD_SIZE"] = stackSizes[im.ISA]
	for name, want := range values {
		got := found[name]
		require.That(t, slices.Equal(got, []int64{want}), "enumerator %s has the values %d, want %d alone", name, got, want)
	}
}

// enumerators returns the different values of every enumerator.
func enumerators(t *testing.T, d *dwarf.Data) map[string][]int64 {
	t.Helper()
	m := map[string][]int64{}
	r := d.Reader()
	for {
		e := require.Must(r.Next())(t)
		if e == nil {
			return m
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		v, ok := e.Val(dwarf.AttrConstValue).(int64)
		if e.Tag == dwarf.TagEnumerator && ok && !slices.Contains(m[name], v) {
			m[name] = append(m[name], v)
		}
	}
}

// The README lists exactly the headers that the shared code includes of an architecture.
func TestReadmeListsTheHeaders(t *testing.T) {
	readme := require.Must(os.ReadFile("README.md"))(t)
	var included []string
	for _, dir := range []string{"kernel/core", "kernel/work", "kernel/include/linux"} {
		files := require.Must(sources.ReadDir(dir))(t)
		for _, f := range files {
			b := require.Must(sources.ReadFile(dir + "/" + f.Name()))(t)
			included = append(included, matches(`#include <(asm/\w+\.h)>`, b)...)
		}
	}
	slices.Sort(included)
	included = slices.Compact(included)
	if listed := matches("(?m)^\\| `(asm/\\w+\\.h)` \\|", readme); !slices.Equal(listed, included) {
		t.Errorf("listed are %q, included %q", listed, included)
	}
	for _, h := range included {
		if _, err := sources.Open("kernel/arch/x86/include/" + h); err != nil {
			t.Error(err)
		}
	}
}

func matches(pattern string, in []byte) []string {
	var found []string
	for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(in, -1) {
		found = append(found, string(m[1]))
	}
	return found
}
