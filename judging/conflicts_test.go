package judging

import (
	"bytes"
	"encoding/binary"
	"testing"

	"kprobesim/internal/clock"
	"kprobesim/internal/host"
	"kprobesim/internal/require"
)

// Places of the data of late stores, and how many there are.
const (
	lateData    = 0x1000_0000
	lateAddress = 0x800
	lateCopies  = 32
)

// lateStores is copies, each with places of its own, of a store whose address is loaded and multiplied six times, and a
// load behind it: mov (%rsi),%r8; imul %r9,%r8; mov %rax,8*i(%rdi,%r8); mov 8*i(%rdi),%rcx. Fences stand around them.
func lateStores() []byte {
	a := &assembler{}
	a.word([]byte{0xbf}, lateData)             // mov $,%edi
	a.word([]byte{0xbe}, lateData+lateAddress) // mov $,%esi
	a.word([]byte{0x41, 0xb9}, 1)              // mov $1,%r9d
	a.Write([]byte{0x0f, 0xae, 0xf0})          // mfence
	for i := range uint32(lateCopies) {
		a.Write([]byte{0x4c, 0x8b, 0x06})
		a.Write(bytes.Repeat([]byte{0x4d, 0x0f, 0xaf, 0xc1}, 6))
		a.word([]byte{0x4a, 0x89, 0x84, 0x07}, 8*i)
		a.word([]byte{0x48, 0x8b, 0x8f}, 8*i)
	}
	a.Write([]byte{0x0f, 0xae, 0xf0, 0xf4}) // mfence; hlt
	return a.Bytes()
}

// TestConflictsOfZen3 has the stores go to the places of their loads. On the host a copy takes 9.2 cycles where they do not, 31.5
// for the first time after 64 such rounds, then 13.2 and 12.2, and 10.2 after two such rounds.
func TestConflictsOfZen3(t *testing.T) {
	code := host.Code
	defer func() { host.Code = code }()
	p := NewPricer(machine(t, "epyc-7713"))
	for _, host.Code.Off = range []bool{false, true} {
		var of host.Pages
		w := require.Must(p.load(&of, lateStores(), []uint64{lateData}))(t)
		round := func(away uint64) float64 {
			w.mem.Write(frame(0)+lateAddress, binary.LittleEndian.AppendUint64(nil, away))
			w.Boot(codePage, control+pageSize/2)
			start := w.Now()
			w.Interrupt() // ends the halt
			w.Run(1 << 60)
			return float64(w.Now()-start) / float64(lateCopies*clock.PerCycle)
		}
		apart := 0.0
		for i, x := range []struct {
			away     int // rounds before
			from, to float64
		}{{64, 21.5, 23}, {0, 0, 1}, {0, 0, 1}, {2, 0, 1}, {64, 21.5, 23}} {
			for range x.away {
				apart = round(0x400)
			}
			more := round(0) - apart
			require.That(t, more >= x.from && more <= x.to, "%d: a copy takes %.2f cycles more (host code off: %v)", i, more, host.Code.Off)
		}
		require.NoError(t, of.Free())
	}
}
