package arm

import (
	"encoding/binary"
	"math/bits"
)

// word is an instruction.
type word uint32

func wordOf(code []byte) word { return word(binary.LittleEndian.Uint32(code)) }

// bytesOf is an instruction as it lies in memory.
func bytesOf(w word) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(w)) }

// Registers with a part of their own.
const (
	sp = 13
	pc = 15
)

// Conditions, bits 28 to 31 (ARM ARM, A8.3).
const (
	condition = 0xf << 28
	always    = 0xe << 28
	special   = 0xf << 28 // no condition: the unconditional instructions
)

// conditional reports whether the word has a condition, which may be that it always holds.
func (w word) conditional() bool { return w&condition != special }

// like gives a word the condition of another one. What has no condition is always executed.
func (w word) like(other word) word {
	return w&^condition | min(other&condition, always)
}

func (w word) bit(n uint) bool { return w>>n&1 != 0 }

func (w word) field(at, n uint) uint32 { return uint32(w) >> at & (1<<n - 1) }

// Registers of an instruction by their place. What the manual calls Rd, Rt, Rn and Rm may be in any of them.
func (w word) n() uint32 { return w.field(16, 4) }
func (w word) d() uint32 { return w.field(12, 4) }
func (w word) m() uint32 { return w.field(0, 4) }

// Bits of loads and stores (ARM ARM, A5.3): the address is indexed before the access, the index is added, the
// base is written back, the access is a load.
func (w word) before() bool { return w.bit(24) }
func (w word) up() bool     { return w.bit(23) }
func (w word) write() bool  { return w.bit(21) }
func (w word) load() bool   { return w.bit(20) }

// updates reports whether the base changes.
func (w word) updates() bool { return !w.before() || w.write() }

// list are the registers of a block, and count is their number.
func (w word) list() uint32 { return w.field(0, 16) }
func (w word) count() int   { return bits.OnesCount32(w.list()) }
