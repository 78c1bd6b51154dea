package x86

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// TestFloatingState raises #NM by CR0.TS and EM, and #UD where SSE is not turned on (SDM vol. 3, 13.1).
func TestFloatingState(t *testing.T) {
	for _, x := range []struct {
		name     string
		code     []byte
		cr0, cr4 uint64
		vector   int
	}{
		{"fninit with TS", []byte{0xdb, 0xe3}, cr0TS, 0, vecNMx87},
		{"fninit with EM", []byte{0xdb, 0xe3}, cr0EM, 0, vecNMx87},
		{"fsin with TS", []byte{0xd9, 0xfe}, cr0TS, 0, vecNMx87},
		{"rsm", []byte{0x0f, 0xaa}, 0, 0, vecUD},
		{"fwait with TS", []byte{0x9b, 0x0f, 0x05, 0xcd, 0x20}, cr0TS, 0, 0},
		{"fwait with TS and MP", []byte{0x9b}, cr0TS | cr0MP, 0, vecNMx87},
		{"fxsave with TS", []byte{0x0f, 0xae, 0x00}, cr0TS, 0, vecNMx87},
		{"movups without OSFXSR", []byte{0x0f, 0x10, 0x00}, 0, 0, vecUD},
		{"movups with TS", []byte{0x0f, 0x10, 0x00}, cr0TS, cr4OSFXSR, vecNMx87},
		{"movups with EM", []byte{0x0f, 0x10, 0x00}, cr0EM, cr4OSFXSR, vecUD},
		{"fxsave misaligned", []byte{0x0f, 0xae, 0x40, 8}, 0, 0, vecGP},
	} {
		w, c := start(t, x.code...)
		if x.vector == 0 {
			w.mem.Write(testCode-kernelMap+1, []byte{0xf4})
		}
		c.cr0 |= x.cr0
		c.cr4 |= x.cr4
		c.R[rax] = testData
		if x.vector == 0 {
			if halt(t, c); c.PC() != testCode+2 {
				t.Errorf("%s: at %#x", x.name, c.PC())
			}
			continue
		}
		tr := w.trapped(c)
		require.That(t, tr.vector == x.vector && tr.code == 0 && tr.rip == testCode, "%s: %+v; want vector %d", x.name, tr, x.vector)
		require.That(t, strings.Contains(strings.ToLower(c.Counts.LastUnknown), "rsm") == (x.name == "rsm"), "%s: the unknown instruction is %q", x.name, c.Counts.LastUnknown)
	}
}

// TestStateImage saves and restores the state, by the layout of the manual.
func TestStateImage(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		// fxsave (%eax); fxrstor (%ebx); hlt
		w, c := startIn(t, isa, 0x0f, 0xae, 0x00, 0x0f, 0xae, 0x0b, 0xf4)
		at := func(off uint64, n int) uint64 {
			return w.mem.Load(binary.LittleEndian, testData-directMap+off, n)
		}
		image := uint64(testData - directMap + 0x400)
		w.mem.Store(binary.LittleEndian, image, 2, 0x27f)
		w.mem.Store(binary.LittleEndian, image+24, 4, 0x1fa0)
		w.mem.Store(binary.LittleEndian, image+160+16*3+8, 8, 77)
		c.fpu.control, c.fpu.mxcsr, c.fpu.xmm[7] = 0x37f, 0x1f80, vec{11, 22}
		c.fpu.xmm[15] = vec{33, 44}
		c.R[rax], c.R[rbx] = w.at(testData), w.at(testData)+0x400
		halt(t, c)
		if at(0, 2) != 0x37f || at(24, 4) != 0x1f80 || at(28, 4) != mxcsrKnown || at(160+16*7, 8) != 11 || at(160+16*7+8, 8) != 22 {
			t.Errorf("saved control %#x, mxcsr %#x, xmm7 %d %d", at(0, 2), at(24, 4), at(160+16*7, 8), at(160+16*7+8, 8))
		}
		require.Equal(t, at(160+16*15, 8) == 33, (isa.Bits == 64), "xmm15 is saved")
		require.That(t, c.fpu.control == 0x27f&0x1f3f|0x40 && c.fpu.mxcsr == 0x1fa0 && c.fpu.xmm[3] == (vec{0, 77}), "restored %+v", c.fpu)
	})
}

// portLog answers ports with their number and notes what is written.
type portLog struct{ wrote []uint64 }

func (p *portLog) Load(port uint64, n int) uint64     { return port + uint64(n)<<24 }
func (p *portLog) Store(port uint64, n int, v uint64) { p.wrote = append(p.wrote, port, uint64(n), v) }

func TestPorts(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		// in $0x60,%al; mov %al,%bl; in (%dx),%eax; out %ax,(%dx); hlt
		w, c := startIn(t, isa, 0xe4, 0x60, 0x88, 0xc3, 0xed, 0x66, 0xef, 0xf4)
		c.R[rdx] = 0xcfc
		halted := func() {
			for !c.Halted {
				c.Run(c.Now() + 1e8)
			}
		}
		halted()
		if c.R[rbx]&0xff != 0xff || c.R[rax] != 0xffffffff {
			t.Errorf("without devices: %#x, %#x", c.R[rbx], c.R[rax])
		}
		log := &portLog{}
		c.Bus.Ports = log
		c.Halted, c.R[rRIP] = false, w.code(testCode)
		halted()
		if c.R[rbx]&0xff != 0x60 || c.R[rax] != 0x4000cfc || len(log.wrote) != 3 || log.wrote[0] != 0xcfc || log.wrote[1] != 2 || log.wrote[2] != 0xcfc {
			t.Errorf("read %#x, %#x; wrote %#x", c.R[rbx], c.R[rax], log.wrote)
		}
		// rep insw; rep outsb; hlt
		w.mem.Write(testCode-kernelMap, []byte{0x66, 0xf3, 0x6d, 0x89, 0xd9, 0xf3, 0x6e, 0xf4})
		c.Halted, c.R[rRIP] = false, w.code(testCode)
		c.R[rcx], c.R[rbx], c.R[rdi], c.R[rsi] = 2, 3, w.at(testData), w.at(testData)
		log.wrote = nil
		halted()
		if got := w.mem.Load(binary.LittleEndian, testData-directMap, 4); got != 0x0cfc0cfc || len(log.wrote) != 9 || log.wrote[8] != 0xfc {
			t.Errorf("ins stored %#x, outs wrote %#x", got, log.wrote)
		}
	})
}

// TestPortRights lets user mode reach ports by IOPL or by the map in the TSS.
func TestPortRights(t *testing.T) {
	const user = 0x40000000
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		for _, x := range []struct {
			iopl  uint64
			limit uint32
			deny  uint64
			ok    bool
		}{{flagIOPL, 0x67, 0, true}, {0, 0x67, 0, false}, {0, 0x200, 0, true}, {0, 0x200, 1 << 1, false}, {0, 0x69, 0, false}} {
			w, c := startIn(t, isa)
			w.mapUser(user, 0x400000, 0x1000, pageExec)
			w.mem.Write(0x400000, []byte{0xe4, 0x61, 0x0f, 0x0b}) // in $0x61,%al; ud2
			w.mem.Store(binary.LittleEndian, worldTSS-directMap+0x66, 2, 0x68)
			w.mem.Store(binary.LittleEndian, worldTSS-directMap+0x68+0x61/8, 1, x.deny<<(0x61&7)>>1)
			c.tr.limit = x.limit
			w.user(c)
			c.setFlags(x.iopl, ^uint64(0))
			c.R[rRIP], c.R[rsp] = user, user+0x800
			tr := w.trapped(c)
			require.That(t, (tr.vector == vecUD) == x.ok && (x.ok || tr.vector == vecGP), "%+v: %+v", x, tr)
		}
	})
}

// TestStateComesBack loads random images and stores them. They come back, but for bits that are reserved or follow
// from others (SDM vol. 1, 10.5.1 and figure 8-6).
func TestStateComesBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 11))
	for _, isa := range modes() {
		for range 20 {
			w, c := startIn(t, isa, 0x0f, 0xae, 0x0b, 0x0f, 0xae, 0x00, 0xf4) // fxrstor (rbx); fxsave (rax); hlt
			c.managesState()
			c.R[rax], c.R[rbx] = w.at(testData), w.at(testData)+512
			m := w.mem.Raw()[testData-directMap:]
			image := m[512:1024]
			for i := range image {
				image[i] = byte(rng.Uint32())
			}
			image[25] &^= 0x80 // a number that is rounded to zero is no flag of the state
			image[26], image[27] = 0, 0
			halt(t, c)
			want := bytes.Clone(image)
			want[0], want[1] = want[0]&0x3f|0x40, want[1]&0x1f
			status, control := want[2], want[0]
			if want[2], want[3] = status&^0x80, want[3]&^0x80; status&^control&0x3f != 0 {
				want[2], want[3] = want[2]|0x80, want[3]|0x80
			}
			want[5], want[7] = 0, want[7]&7
			copy(want[28:32], m[28:32]) // the mask of MXCSR
			for i := range 8 {
				copy(want[32+16*i+10:48+16*i], make([]byte, 6))
			}
			n := 160 + 16*c.xmmCount()
			for i := range n {
				require.That(t, m[i] == want[i], "%s: byte %d is %#02x, want %#02x of %#02x", isa.Name, i, m[i], want[i], image[i])
			}
		}
	}
}

// TestIntegersToFloats converts the lower half of a register, or all of it with REX.W, whatever other bits REX has.
func TestIntegersToFloats(t *testing.T) {
	for rex := byte(0x40); rex < 0x50; rex++ {
		_, c := start(t, 0xf2, rex, 0x0f, 0x2a, 0xc1, 0xf4) // cvtsi2sd %ecx,%xmm0
		c.cr4 |= cr4OSFXSR
		for _, r := range []int{rcx, r9} {
			c.R[r] = 0x1_fffffffe
		}
		halt(t, c)
		want := -2.0
		if rex&8 != 0 {
			want = 0x1_fffffffe
		}
		got := math.Float64frombits(c.fpu.xmm[rex>>2&1*8][0])
		require.That(t, got == want, "REX %#x: %g, want %g", rex, got, want)
	}
}
