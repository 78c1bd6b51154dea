package kprobes

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus/cpustest"
	elf "kprobesim/image"
	"kprobesim/internal/require"
	"kprobesim/sim"
	"kprobesim/smp"
	"kprobesim/workloads"
)

// Kernels of 2005 never change several bytes, so that they refuse to be told how.
func TestEra2005HasNoProtocols(t *testing.T) {
	for _, image := range imagesOf2005() {
		im := loadImage(t, image)
		for _, protocol := range protocols(withJprobes(strings.TrimSuffix(image, "-2005"))) {
			kit := KitOf(im)
			m := require.Must(sim.New(sim.Config{ISA: kit.ISA, Board: kit.Board, CPU: cpustest.Config(kit.ISA), Image: im, Zeroed: cpustest.RAM(t)}))(t)
			kernel, err := smp.New(m, im, smp.Options{HZ: 1000, CPUHz: 1e9})
			require.NoError(t, err)
			o := Default()
			o.Patching = protocol
			_, err = New(m, im, kernel, ArchOf(im), o)
			require.That(t, (err != nil && strings.Contains(err.Error(), "kernels of 2005 write breakpoints and no jumps")) != (protocol == PatchStop), "%s, %s: %v", image, protocol, err)
		}
	}
}

// Kernels of 2005 take any address of kernel text: the documentation warns of what that does.
func TestEra2005TakesAnyAddress(t *testing.T) {
	boot2005(t, Default(), func(l *live) {
		if l.k.arch.Align == 1 {
			l.add(Spec{Symbol: "bench_target", Offset: 1, Handler: "handler_empty"})
		} else if _, err := l.k.Add(l.Call, Spec{Symbol: "bench_target", Offset: 1}); !errors.Is(err, EINVAL) {
			t.Errorf("an address between two instructions: %v", err)
		}
		_, err := l.k.Add(l.Call, Spec{Symbol: "find_probe"})
		require.That(t, errors.Is(err, EINVAL), "a function of the hit path: %v", err)
		if _, err := l.k.Add(l.Call, Spec{Symbol: "no_such_function"}); !errors.Is(err, EINVAL) {
			t.Errorf("unknown symbol: %v", err)
		}
		if _, err := l.k.Add(l.Call, Spec{Symbol: "work_read", Disabled: true}); !errors.Is(err, ENOSYS) {
			t.Errorf("disabled: %v", err)
		}
		if _, err := l.k.Add(l.Call, Spec{Kind: Kretprobe, Symbol: "work_read", Entry: "entry_empty"}); err == nil {
			t.Error("an entry handler is accepted")
		}
		for _, fn := range l.k.era.lacks {
			require.Equal(t, l.status(fn, 0, 0), -int32(ENOSYS), "%s", fn)
		}
	})
}

// returnsTrap tells a kernel in which return probes come back by a breakpoint, or by a jump in its place.
// Kernels of i386 have had a trampoline of code since 2006, but for the variants without it, x86-64 only in
// 2010, and ppc64 never.
func returnsTrap(image string) bool {
	image = strings.TrimSuffix(image, "-userprobes")
	return strings.HasPrefix(image, "ppc64") || slices.Contains([]string{
		"i386-2005", "i386-2006-trapping", "i386-2006-stepping-trapping", "x86_64-2005", "x86_64-2006",
	}, image)
}

// Where return probes trap, the only probe of a machine without probes is that of the trampoline.
func TestTrapsAtTheTrampoline(t *testing.T) {
	bootImages(t, images(), plain(), func(l *live, image string) {
		got := len(l.k.sites) == 1 && l.k.sites[0].addr == l.addr("kretprobe_trampoline")
		require.That(t, got == returnsTrap(image) && (got || len(l.k.sites) == 0), "%s: %d probes, one at the trampoline: %v", image, len(l.k.sites), got)
	})
}

// TestNewNamesWhatIsMissing takes one symbol after the other from a kernel: Kprobes is not built without, but for what few kernels have.
func TestNewNamesWhatIsMissing(t *testing.T) {
	const optional = " the_hit hit_cpu __crowd_start __crowd_end __lib_text_start __lib_text_end flush_omitted kretprobe_trampoline "
	for image, also := range map[string]string{"x86_64-2010": "", "arm-2014": "switch_boost"} {
		g := newGuest(t, image, Default())
		b, sym := require.Must(workloads.Open(image))(t), symbols{}
		groups := slices.Concat(sym.groups(g.im, g.k.era, g.k.arch, g.k.jump), sym.ofOptimizing(g.k.jump))
		missed := 0
		for _, group := range groups {
			for _, w := range group.symbols {
				name := []byte("\x00" + w.name + "\x00")
				if !bytes.Contains(b, name) {
					continue // of other years, or the end of another name
				}
				lacking := bytes.ReplaceAll(b, name, []byte("\x00"+w.name[1:]+"_\x00"))
				im := require.Must(elf.Load(image, lacking))(t)
				_, err := build(g, im, g.smp, ArchOf(im), Default())
				needed := !strings.Contains(optional, " "+w.name+" ") && w.name != also
				require.That(t, (err != nil) == needed && (err == nil || strings.Contains(err.Error(), w.name)), "%s without %s: %v", image, w.name, err)
				missed++
			}
		}
		require.That(t, missed > 25, "%s has %d of the symbols", image, missed)
	}
}

// TestSymbolsOfKernels holds how many kernels need each symbol, and how many as a pointer to it.
func TestSymbolsOfKernels(t *testing.T) {
	type count struct{ known, needed, pointers int }
	counts := map[string]*count{}
	add := func(to *int, holds bool) {
		if holds {
			*to++
		}
	}
	for _, image := range images() {
		if smp.Preemptible(loadImage(t, image)) {
			continue // a guest of the same symbols, which newGuest does not make
		}
		g, sym := newGuest(t, image, Default()), symbols{}
		for _, group := range slices.Concat(sym.groups(g.im, g.k.era, g.k.arch, g.k.jump), sym.ofOptimizing(g.k.jump)) {
			for _, w := range group.symbols {
				if counts[w.name] == nil {
					counts[w.name] = &count{}
				}
				n := counts[w.name]
				n.known++
				add(&n.needed, group.needed)
				add(&n.pointers, group.pointers)
			}
		}
	}
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&all, "%s: %+v\n", name, *counts[name])
	}
	require.Lines(t, "testdata/symbols.txt", all.String(), *update)
}

// TestTablesOfModules keeps probes away from what a module's table lists, in kernels that know such tables, until the module goes.
func TestTablesOfModules(t *testing.T) {
	for image, knows := range map[string]bool{"x86_64-2010": false, "ppc64-2017": false, "i386-2020-untraced": true} {
		g := newGuest(t, image, plain())
		fn, _ := g.im.Func("work_frame")
		at := value(g.Alloc(8, 8))(g)
		g.do(g.Store(at, g.size(), fn.Entry))
		add := func() error { return require.Err(g.k.Add(g, Spec{Symbol: "work_frame", Handler: "handler_empty"})) }
		require.NoError(t, g.k.ForbidInModule(Span{at, at + uint64(g.size())}))
		require.Equal(t, errors.Is(add(), EINVAL), knows, "%s refuses what a module's table lists", image)
		g.k.ForgetModule(Span{fn.Entry, fn.Entry + 1})
		require.NoError(t, add())
	}
}
