package judging

import (
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/internal/elffile"
)

// Bounds of a block in instructions.
const (
	fewest = 3
	most   = 20
)

// Block is a run of instructions without a branch but at its end.
type Block struct {
	Code   []byte
	Class  string  // what it has that others have not: see Classes
	Length int     // instructions
	Source string  // the file that it was cut from, or the list that it stood in
	Native float64 // cycles of a copy on the processor
	Priced float64 // and under the description
	MCA    float64 // of llvm-mca; 0 where it was not asked or has no answer
	pages  []uint64
	took   took
}

// Classes are the sorts of blocks, in the order of tables. A block is of the last one that any of its instructions is of.
var Classes = []string{"integer", "memory", "stack", "branch"}

// text is a section of instructions.
type text struct {
	file string
	code []byte
}

// Cutter draws blocks from executables.
type Cutter struct {
	texts []text
	total int
	rng   *rand.Rand
	seen  map[string]bool
}

// elfAdvice words what is wrong with a file.
var elfAdvice = elffile.Advice{
	Foreign: "name executables or libraries of x86-64", Damaged: "name another executable",
}

// NewCutter reads the code of executables. The same seed and files give the same blocks.
func NewCutter(files []string, seed uint64) (*Cutter, error) {
	c := &Cutter{rng: rand.New(rand.NewPCG(seed, 26)), seen: map[string]bool{}}
	for _, f := range files {
		if err := c.read(f); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
	}
	return c, nil
}

// read adds the executable sections of a file.
func (c *Cutter) read(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return elfAdvice.Guard(func() error {
		f, err := elfAdvice.Open(b)
		if err != nil {
			return err
		}
		if f.Machine != elf.EM_X86_64 {
			return fmt.Errorf("is for %v: %s", f.Machine, elfAdvice.Foreign)
		}
		n := len(c.texts)
		for _, s := range f.Sections {
			if s.Flags&elf.SHF_EXECINSTR == 0 || s.Type != elf.SHT_PROGBITS || s.Size < 4096 {
				continue
			}
			code, err := s.Data()
			if err != nil {
				return err
			}
			c.texts = append(c.texts, text{file, code})
			c.total += len(code)
		}
		if n == len(c.texts) {
			return fmt.Errorf("has no section of code of 4 KiB or more: %s", elfAdvice.Damaged)
		}
		return nil
	})
}

// synchronize is how many instructions are decoded before a block, so that the decoder finds where instructions begin.
const synchronize = 64

// tries bounds how long Next looks for a block that was not drawn before.
const tries = 100_000

// Next draws a block, or returns nil where there is no other. Each executable is drawn from as often as any other.
func (c *Cutter) Next() *Block {
	for range tries {
		t := c.texts[c.rng.IntN(len(c.texts))]
		code := t.code[c.rng.IntN(len(t.code)-2048):]
		length := fewest + c.rng.IntN(most-fewest+1)
		for range synchronize {
			in, err := x86asm.Decode(code, 64)
			if err != nil || in.Op == 0 {
				code = nil
				break
			}
			code = code[in.Len:]
		}
		if b := parse(code, fewest, length); b != nil && !c.seen[string(b.Code)] {
			c.seen[string(b.Code)], b.Source = true, t.file
			return b
		}
	}
	return nil
}

// parse takes the instructions at the beginning of code up to a branch, an instruction that is not judged or so many, or
// returns nil where they are too few. A branch at the end leads to the next copy, whether it is taken or not.
func parse(code []byte, fewest, length int) *Block {
	b, class := &Block{}, 0
	for b.Length < length {
		in, err := x86asm.Decode(code[len(b.Code):], 64)
		if err != nil || !judged(in) {
			break
		}
		b.Code = append(b.Code, code[len(b.Code):len(b.Code)+in.Len]...)
		b.Length++
		k := classOf(in)
		class = max(class, k)
		if Classes[k] == "branch" {
			width := min(in.PCRel, 4)
			clear(b.Code[len(b.Code)-width:])
			break
		}
	}
	if b.Length < fewest {
		return nil
	}
	b.Class = Classes[class]
	return b
}

// operations are the names of what is judged, without conditions.
var operations = strings.Fields(`ADC ADD AND BSF BSR BSWAP BT BTC BTR BTS CBW CDQ CDQE CMC CMP CMPXCHG CQO CWD CWDE DEC IMUL INC JMP LAHF LEA LEAVE
	MOV MOVSX MOVSXD MOVZX MUL NEG NOP NOT OR POP POPCNT PUSH RCL RCR ROL ROR SAHF SAR SBB SHL SHLD SHR SHRD STC CLC SUB TEST XADD XCHG XOR`)

// judged reports whether an instruction may stand in a block: on integers, without a lock, a segment or an address that is
// relative to it, and without a division, whose time follows the numbers.
func judged(in x86asm.Inst) bool {
	name := in.Op.String()
	conditional := strings.HasPrefix(name, "CMOV") || strings.HasPrefix(name, "SET") || isJump(in)
	if !conditional && !slices.Contains(operations, name) {
		return false
	}
	for _, p := range in.Prefix {
		switch p & 0xff {
		case 0xf0, 0xf2, 0xf3:
			if p&x86asm.PrefixImplicit == 0 && in.Op != x86asm.POPCNT {
				return false
			}
		}
	}
	return !slices.ContainsFunc(in.Args[:], func(a x86asm.Arg) bool { return foreign(in, a) })
}

// foreign reports whether an operand is none that blocks may have.
func foreign(in x86asm.Inst, a x86asm.Arg) bool {
	switch a := a.(type) {
	case x86asm.Mem:
		return a.Segment != 0 || a.Base == x86asm.RIP || a.Base == x86asm.EIP || in.Op == x86asm.XCHG || in.MemBytes > 8
	case x86asm.Reg:
		return a > x86asm.R15
	case x86asm.Rel:
		return !isJump(in)
	case nil:
		return false
	}
	return in.Op == x86asm.JMP
}

// isJump reports whether an instruction is a jump to an address that stands in it, conditional or not.
func isJump(in x86asm.Inst) bool {
	_, relative := in.Args[0].(x86asm.Rel)
	name := in.Op.String()
	return relative && name[0] == 'J' && !strings.Contains(name, "CX")
}

// classOf returns the place in Classes of the sort that an instruction makes a block.
func classOf(in x86asm.Inst) int {
	switch in.Op {
	case x86asm.PUSH, x86asm.POP, x86asm.LEAVE:
		return 2
	}
	if isJump(in) {
		return 3
	}
	for _, a := range in.Args {
		if m, ok := a.(x86asm.Mem); ok && in.Op != x86asm.LEA && in.Op != x86asm.NOP {
			if m.Base == x86asm.RSP {
				return 2
			}
			return 1
		}
	}
	return 0
}

// Text disassembles a block.
func (b *Block) Text() []string {
	var out []string
	for at := 0; at < len(b.Code); {
		in, err := x86asm.Decode(b.Code[at:], 64)
		if err != nil || in.Len == 0 {
			return append(out, "(bad)")
		}
		out = append(out, x86asm.GNUSyntax(in, uint64(at), nil))
		at += in.Len
	}
	return out
}
