package attaching

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// What programs of this package do when they are hit. Each returns 0, by which a kernel goes on as without it.
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

// spare counts hits for which a ring buffer has room beside the loop: other calls may hit the program too.
const spare = 1000

// page is the size of a page.
const page = 4096

// own is a program of this package, with its map.
type own struct {
	program *ebpf.ProgramSpec
	maps    map[string]*ebpf.MapSpec
	// offset is where its map counts hits, width in how many bytes, and unit by how much a hit adds there; 0 for a program that does
	// not count.
	offset, unit uint64
	width        int
}

// ownNamed is a program by its name; hits is how many there will be at most.
func ownNamed(name string, hits uint64, on *machine) (*own, error) {
	const mmapable = 1 << 10
	o := &own{maps: map[string]*ebpf.MapSpec{}}
	var code asm.Instructions
	switch name {
	case Empty:
		code = asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}
	case Count:
		code, o.unit, o.width = counts(on), 1, 8
		o.maps[name] = &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1, Flags: mmapable}
	case Ringbuf:
		size := uint32(page)
		for uint64(size) < (record+head)*(hits+spare) && size < 1<<30 {
			size *= 2
		}
		code = writes()
		o.unit, o.offset, o.width = record+head, page, on.word // the consumer's position has the first page, the producer's the second
		o.maps[name] = &ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: size}
	default:
		return nil, fmt.Errorf("program %q: write %q, %q or %q", name, Empty, Count, Ringbuf)
	}
	o.program = &ebpf.ProgramSpec{Name: name, Instructions: code, License: "Dual BSD/GPL"}
	return o, nil
}

// counts adds at once what other CPUs may add to. Compilers for 32 bits know no such instruction: there it loads, adds and stores.
func counts(on *machine) asm.Instructions {
	add := asm.Instructions{asm.Mov.Imm(asm.R1, 1), asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0)}
	if on.word < 8 {
		add = asm.Instructions{asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), asm.Add.Imm(asm.R1, 1), asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord)}
	}
	return slices.Concat(asm.Instructions{
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.LoadMapPtr(asm.R1, 0).WithReference(Count),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
	}, add, asm.Instructions{
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	})
}

func writes() asm.Instructions {
	return asm.Instructions{
		asm.LoadMapPtr(asm.R1, 0).WithReference(Ringbuf),
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
	}
}
