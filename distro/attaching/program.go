package attaching

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/cilium/ebpf/asm"
)

// What programs do when they are hit. Each returns 0, by which a kernel goes on as without it.
const (
	Empty   = "empty"
	Count   = "count"   // adds 1 to an element of a map of the kind array
	Ringbuf = "ringbuf" // reserves 16 bytes of a ring buffer, fills them, and submits them
)

// record counts the bytes that a program of the kind ringbuf reserves, and head those that the kernel puts before them
// (Documentation/bpf/ringbuf.rst).
const (
	record = 16
	head   = 8
)

// Commands of bpf(2).
const (
	mapCreate         = 0
	progLoad          = 5
	objGetInfo        = 15
	rawTracepointOpen = 17
	linkCreate        = 28
)

// Program is a program that is attached.
type Program struct {
	// Start and End are where its machine code lies in the kernel; both are 0 where there is none, or where the kernel
	// does not tell.
	Start, End uint64
	// Function is one of the kernel that is entered once a hit, where there is no program.
	Function string
	counter  uint64 // an address in the guest's program
	unit     uint64 // by which the counter grows in a hit
}

// code is the bytecode of a program, for a map with the given file descriptor.
func code(what string, fd int) (asm.Instructions, error) {
	switch what {
	case Empty:
		return asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}, nil
	case Count:
		return asm.Instructions{
			asm.StoreImm(asm.RFP, -4, 0, asm.Word),
			asm.Mov.Reg(asm.R2, asm.RFP),
			asm.Add.Imm(asm.R2, -4),
			asm.LoadMapPtr(asm.R1, fd),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "out"),
			asm.Mov.Imm(asm.R1, 1),
			asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
			asm.Return(),
		}, nil
	case Ringbuf:
		return asm.Instructions{
			asm.LoadMapPtr(asm.R1, fd),
			asm.Mov.Imm(asm.R2, record),
			asm.Mov.Imm(asm.R3, 0),
			asm.FnRingbufReserve.Call(),
			asm.JEq.Imm(asm.R0, 0, "out"),
			asm.Mov.Imm(asm.R1, 1),
			asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord),
			asm.StoreMem(asm.R0, 8, asm.R1, asm.DWord),
			asm.Mov.Reg(asm.R1, asm.R0),
			asm.Mov.Imm(asm.R2, 0),
			asm.FnRingbufSubmit.Call(),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
			asm.Return(),
		}, nil
	}
	return nil, fmt.Errorf("program %q: write %q, %q or %q", what, Empty, Count, Ringbuf)
}

// target names the kind of a program and its place when it is loaded.
type target struct {
	kind     uint32 // enum bpf_prog_type
	attached uint32 // enum bpf_attach_type, 0 where the kind needs none
	typ      uint32 // number of the type in the kernel's BTF to which it goes, or 0
}

// load makes the map that a program needs, and loads the program; hits is how many there will be at most.
func load(g Guest, what string, t target, hits uint64) (fd int64, p *Program, err error) {
	p = &Program{}
	store, err := p.store(g, what, hits)
	if err != nil {
		return 0, nil, err
	}
	insns, err := code(what, store)
	if err != nil {
		return 0, nil, err
	}
	var b bytes.Buffer
	if err := insns.Marshal(&b, binary.LittleEndian); err != nil {
		return 0, nil, fmt.Errorf("program %s: %w", what, err)
	}
	if fd, err = Load(g, b.Bytes(), t.kind, t.attached, t.typ); err != nil {
		return 0, nil, err
	}
	return fd, p, p.find(g, fd)
}

// store makes the map of a program and has it mapped into the guest's program, where its hits can be read.
func (p *Program) store(g Guest, what string, hits uint64) (fd int, err error) {
	const array, ring, mmapable, page = 2, 27, 1 << 10, 4096
	attr := make(fields, 72)
	var offset uint64 // of the counter in the map's memory
	switch what {
	case Count:
		attr.u32(0, array)
		attr.u32(4, 4)
		attr.u32(8, 8)
		attr.u32(12, 1)
		attr.u32(16, mmapable)
		p.unit = 1
	case Ringbuf:
		size := uint32(page)
		for uint64(size) < (record+head)*(hits+spare) && size < 1<<30 {
			size *= 2
		}
		attr.u32(0, ring)
		attr.u32(12, size)
		p.unit, offset = record+head, page // the consumer's position has the first page, the producer's the second
	default:
		return 0, nil
	}
	n, err := bpf(g, "create the map of a program that is "+what, mapCreate, g.Memory(), attr)
	if err != nil {
		return 0, err
	}
	const read, shared = 1, 1
	at, err := call(g, "map the map of a program", callMmap, g.Memory(), 0, page, read, shared, uint64(n), offset)
	p.counter = uint64(at)
	return int(n), err
}

// spare counts hits for which a ring buffer has room beside the loop: other calls may hit the program too.
const spare = 1000

// Load loads a program of BPF. When the kernel refuses it, it is asked again, for what the verifier says.
func Load(g Guest, insns []byte, kind, attached, typ uint32) (int64, error) {
	fd, err := load1(g, insns, kind, attached, typ, 0)
	var refused *Refused
	if !errors.As(err, &refused) {
		return fd, err
	}
	const room = 64 << 10
	if fd, err = load1(g, insns, kind, attached, typ, room); err == nil {
		return 0, errors.New("the kernel refused a program, and took it when it was asked again")
	}
	return fd, err
}

func load1(g Guest, insns []byte, kind, attached, typ uint32, log int) (int64, error) {
	const slot = 8 // bytes of an instruction
	m, attr := g.Memory(), make(fields, 120)
	attr.u32(0, kind)
	attr.u32(4, uint32(len(insns)/slot))
	attr.u64(8, m.put(insns))
	attr.u64(16, m.text("Dual BSD/GPL"))
	attr.u32(68, attached)
	attr.u32(108, typ)
	if log > 0 {
		attr.u32(24, 1)
		attr.u32(28, uint32(log))
		attr.u64(32, m.put(make([]byte, log)))
	}
	fd, err := bpf(g, "load a program of BPF", progLoad, m, attr)
	var refused *Refused
	if errors.As(err, &refused) && log > 0 {
		said, _, _ := bytes.Cut(m.at(binary.LittleEndian.Uint64(attr[32:])), []byte{0})
		refused.Log = strings.TrimSpace(string(said))
	}
	return fd, err
}

// find asks the kernel where the machine code of a program lies.
func (p *Program) find(g Guest, fd int64) error {
	m, info, attr := g.Memory(), make(fields, 208), make(fields, 16)
	at, length := m.put(make([]byte, 8)), m.put(make([]byte, 8))
	info.u32(104, 1)
	info.u32(108, 1)
	info.u64(112, at)
	info.u64(120, length)
	attr.u32(0, uint32(fd))
	attr.u32(4, uint32(len(info)))
	attr.u64(8, m.put(info))
	if _, err := bpf(g, "tell of a program", objGetInfo, m, attr); err != nil {
		return err
	}
	p.Start = binary.LittleEndian.Uint64(m.at(at))
	p.End = p.Start + uint64(binary.LittleEndian.Uint32(m.at(length)))
	if p.Start == 0 || p.Start == p.End {
		return errors.New("the kernel does not compile programs of BPF, and interprets them: their hits cannot be told")
	}
	return nil
}

// Counter is where the guest's program reads how often this one was hit, and by how much a hit adds to it; false for one
// that does not count.
func (p *Program) Counter() (addr, unit uint64, ok bool) { return p.counter, p.unit, p.unit > 0 }
