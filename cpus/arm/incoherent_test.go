package arm

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/mmu"
)

// Kinds of caches that these tests know.
const (
	coherent = iota
	writeThrough
	writeBack // incoherent, as the one before it
	kinds
)

// keep gives a world caches of a kind.
func (w *world) keep(kind int) {
	w.cfg.L1I.Incoherent = kind != coherent
	w.cfg.L1D.WriteThrough = kind == writeThrough
}

// changed is a function that is changed.
const changed = testCode + 0x1000

// Maintenance of the address in r5.
var (
	dccmvau   = mcr(7, 0, 11, 1, 5)
	dccmvac   = mcr(7, 0, 10, 1, 5)
	dccsw     = mcr(7, 0, 10, 2, 5)
	icimvau   = mcr(7, 0, 5, 1, 5)
	iciallu   = mcr(7, 0, 5, 0, 5)
	icialluis = mcr(7, 0, 1, 0, 5)
	cp15isb   = mcr(7, 0, 5, 4, 5)
)

// changing is a program that calls a function, changes what it returns from 1 to 2, does something and returns
// what it returns then. r5 is its address and r6 the new instruction. before says that the function is called
// before it is changed, too: r4 times.
func changing(before bool, between ...uint32) []uint32 {
	at := uint64(testCode)
	var code []uint32
	add := func(words ...uint32) { code, at = append(code, words...), at+4*uint64(len(words)) }
	callChanged := func() { add(branchTo(at, changed) | 1<<24) }
	if before {
		callChanged()
		add(dataConstant(opSUB, 1, 4, 4, 1))
		add(branchTo(at, testCode)&^(0xf<<28) | condNE<<28)
	}
	add(strAt(6, 5, 0))
	add(between...)
	callChanged()
	add(insnUDF)
	return code
}

// TestChangedCode runs what software may do and leave out between a store to code and the code.
func TestChangedCode(t *testing.T) {
	all := []uint32{dccmvau, insnDSB, icimvau, insnDSB, insnISB}
	for _, x := range []struct {
		name    string
		before  bool
		between []uint32
		want    [kinds]uint64
	}{
		{"nothing", true, nil, [kinds]uint64{2, 1, 1}},
		{"all", true, all, [kinds]uint64{2, 2, 2}},
		{"to the point of coherency", true, append([]uint32{dccmvac}, all[1:]...), [kinds]uint64{2, 2, 2}},
		{"no clean", true, all[1:], [kinds]uint64{2, 2, 1}},
		{"clean by set and way", true, append([]uint32{dccsw}, all[1:]...), [kinds]uint64{2, 2, 2}},
		{"no invalidation", true, []uint32{dccmvau, insnDSB, insnISB}, [kinds]uint64{2, 1, 1}},
		{"all of the cache", true, []uint32{dccmvau, insnDSB, iciallu, insnDSB, insnISB}, [kinds]uint64{2, 2, 2}},
		{"all of the cache, everywhere", true, []uint32{dccmvau, insnDSB, icialluis, cp15isb}, [kinds]uint64{2, 2, 2}},
		{"all of the cache, not cleaned", true, []uint32{iciallu, insnISB}, [kinds]uint64{2, 2, 1}},
		{"no isb", true, all[:4], [kinds]uint64{2, 1, 1}},
		{"isb too early", true, []uint32{dccmvau, insnISB, icimvau}, [kinds]uint64{2, 1, 1}},
		{"older isb", true, []uint32{dccmvau, icimvau, cp15isb}, [kinds]uint64{2, 2, 2}},
		{"not fetched before", false, nil, [kinds]uint64{2, 2, 1}},
		{"not fetched before, cleaned", false, all[:1], [kinds]uint64{2, 2, 2}},
	} {
		for i := range 2 * kinds {
			kind, untimed := i/2, i%2 != 0
			w := newWorld(t, cpus.Throughput, changing(x.before, x.between...))
			w.words(changed-kernelMap, dataConstant(opMOV, 0, 0, 0, 1), insnBX)
			w.keep(kind)
			c := w.cpu()
			if untimed {
				c.Untimed(1, 1<<60)
			}
			c.R[4], c.R[5], c.R[6] = 5, changed, uint64(dataConstant(opMOV, 0, 0, 0, 2))
			if v := to(t, c); v != vecUndefined || c.R[0] != x.want[kind] {
				t.Errorf("%s, kind %d, untimed %v: %s, the function returned %d, want %d", x.name, kind, untimed, vectorNames[v], c.R[0],
					x.want[kind])
			}
		}
	}
}

// TestChangedCodeOfTwo changes code by one CPU. The other goes on with the old until it synchronizes itself, by an
// isb or by an exception.
func TestChangedCodeOfTwo(t *testing.T) {
	for _, x := range []struct {
		invalidate uint32
		sync       bool
		want       uint64
	}{{icimvau, true, 2}, {icimvau, false, 1}, {icialluis, true, 2}, {iciallu, true, 1}} {
		w := newWorld(t, cpus.Throughput, changing(true, dccmvau, x.invalidate, insnISB))
		w.words(changed-kernelMap, dataConstant(opMOV, 0, 0, 0, 1), insnBX)
		w.words(0x20000, branchTo(0x20000, changed-kernelMap)|1<<24, insnSVC)
		w.keep(writeBack)
		w.bus.Directory = mmu.NewDirectory(2)
		all := [2]*CPU{w.cpu(), w.cpu()}
		all[0].R[4] = 1
		other := all[1]
		run := func() {
			other.R[rPC] = kernelMap + 0x20000
			other.Steps(3, 1<<60)
		}
		run()
		all[0].R[5], all[0].R[6] = changed, uint64(dataConstant(opMOV, 0, 0, 0, 2))
		to(t, all[0])
		if x.sync {
			other.sync()
		}
		if run(); other.R[0] != x.want {
			t.Errorf("%#x, synchronized %v: %d, want %d", x.invalidate, x.sync, other.R[0], x.want)
		}
	}
}

// TestChangedCodeAcrossGranules stores a word of which the second half is code, behind a border of what decoded code
// is kept by, on a machine whose instruction caches are coherent.
func TestChangedCodeAcrossGranules(t *testing.T) {
	const at = changed + 1<<mmu.GranuleShift
	w := newWorld(t, cpus.Window, []uint32{
		branchLink(testCode, at), data(opMOV, 0, 0, 7, 0), strAt(6, 5, -2), insnISB, branchLink(testCode+16, at), insnUDF,
	})
	w.words(at-kernelMap, dataConstant(opMOV, 0, 0, 0, 1), insnBX)
	c := w.cpu()
	c.R[5], c.R[6] = at, uint64(dataConstant(opMOV, 0, 0, 0, 2)&0xffff)<<16
	if v := to(t, c); v != vecUndefined || c.R[7] != 1 || c.R[0] != 2 {
		t.Errorf("%s, the function returned %d and %d", vectorNames[v], c.R[7], c.R[0])
	}
}

func branchLink(from, to uint64) uint32 { return branchTo(from, to) | 1<<24 }
