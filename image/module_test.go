package image

import (
	"testing"

	"kprobesim/image/imagetest"
	"kprobesim/internal/require"
)

// TestModules finds names of modules in a fork and not in the kernel, as long as they are loaded. A name that the kernel has is the
// kernel's.
func TestModules(t *testing.T) {
	for name, e := range map[string]*imagetest.ELF{"x86-64": imagetest.Kernel(), "ppc64": descriptors()} {
		kernel := require.Must(Load(name, e.Build()))(t)
		of := func(name string, at uint64) Module {
			return Module{
				Name: name, Base: at, Bytes: make([]byte, 0x100),
				Sections: []ModuleSection{{Name: ".text", Addr: at, Size: 0x80, Exec: true}, {Name: ".data", Addr: at + 0x80, Size: 0x80}},
				Symbols: []Symbol{
					NewSymbol("own", at+0x10, 8, true, true, ".text"), NewSymbol("begin", at+0x20, 8, true, true, ".text"),
					NewSymbol("start", at+0x30, 8, true, true, ".text"), NewSymbol("kept", at+0x90, 8, false, false, ".data"),
				},
			}
		}
		const a, b = imagetest.Base + 0x100000, imagetest.Base + 0x200000
		im := kernel.Fork()
		require.NoError(t, im.AddModule(of("a", a)))
		require.NoError(t, im.AddModule(of("b", b)))
		require.Error(t, im.AddModule(of("b", b)), "module b is loaded already", "%s", name)
		for _, at := range []uint64{a, b} {
			m := map[uint64]string{a: "a", b: "b"}[at]
			s, ok := im.Symbol(m + ":own")
			require.That(t, ok && s.Addr == at+0x10 && s.Module == m && im.FullName(s) == m+":own", "%s: %s:own is %+v, %v", name, m, s, ok)
			require.Equal(t, im.SymbolText(at+0x12), m+":own+0x2", "%s: inside of own", name)
			require.Equal(t, im.SymbolText(at+0x93), m+":kept+0x3", "%s: inside of data", name)
			require.Equal(t, im.SectionAt(at+0x84), m+":.data", "%s: the section of data", name)
			require.Equal(t, im.Phase(at+0x10), PhaseHandler, "%s: the phase of code", name)
		}
		for _, s := range []string{"begin", "start"} {
			want, inKernel := kernel.Symbol(s)
			got, ok := im.Symbol(s)
			require.That(t, ok && (got == want || !inKernel && got.Module != ""), "%s: %s is %+v, in the kernel %+v", name, s, got, want)
		}
		other := im.Fork()
		im.RemoveModule("a")
		im.RemoveModule("nothing")
		_, gone := im.Symbol("a:own")
		_, left := im.Symbol("b:own")
		own, _ := im.Symbol("own")
		require.That(t, !gone && left && own.Module == "b" && len(im.Modules()) == 1 && im.SectionAt(a) == "", "%s: without a: %v, %v, %+v", name, gone, left, own)
		_, ok := kernel.Symbol("own")
		require.That(t, !ok && len(kernel.Modules()) == 0 && len(other.Modules()) == 2, "%s: others have %d and %d modules", name, len(kernel.Modules()), len(other.Modules()))
		kernel.RemoveModule("a")
	}
}

// TestModuleOfAnUnknownPhase refuses code in a section of a phase that nobody knows.
func TestModuleOfAnUnknownPhase(t *testing.T) {
	im := loadGood(t).Fork()
	err := im.AddModule(Module{Name: "a", Sections: []ModuleSection{{Name: ".phase.other", Exec: true}}})
	require.Error(t, err, "module a: ", "")
	require.Equal(t, len(im.Modules()), 0, "modules")
}
