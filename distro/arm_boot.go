package distro

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"kprobesim/cpus/arm"
	"kprobesim/sim"
)

// ARMCommand are the parameters of a kernel of ARM for a number of CPUs, where none are given.
func ARMCommand(n int) string {
	if n < 2 {
		return "console=ttyAMA0 nosmp " + shortCommand
	}
	return "console=ttyAMA0 " + shortCommand
}

// mostLow is how much memory every kernel of ARM maps for good. Tree and initial file system lie in it.
const mostLow = 512 << 20

// noMachine stands in r1 for a machine that a tree describes (Documentation/arm/booting.rst).
const noMachine = 1<<32 - 1

// Described is a board whose parts a device tree lists.
type Described interface {
	// Memory says where memory begins, and how much there is room for, in bytes.
	Memory() (base, most uint64)
	// Lacks reports whether the board and its CPUs have not what a node describes.
	Lacks(node string, compatible []string) bool
}

// loadARM lays the memory out for a kernel of ARM and enters it as a boot loader does (Documentation/arm/booting.rst):
// translation and caches off, the address of a device tree in r2.
func (c *Config) loadARM() (*sim.Bare, error) {
	s := &c.Kernel.Image.Segments[0]
	board, ok := c.Board.(Described)
	if !ok {
		return nil, errors.New("kernels of ARM are booted on a Versatile Express board")
	}
	base, most := board.Memory()
	low := min(uint64(c.RAM), mostLow)
	if uint64(c.RAM) > most || uint64(len(c.Initrd)) > low {
		return nil, fmt.Errorf("%d MiB of memory: the board has room for %d, and the initial file system takes %d bytes", c.RAM>>20, most>>20, len(c.Initrd))
	}
	at := (low - uint64(len(c.Initrd))) &^ 0xfff
	tree, err := c.boardTree(board, at, uint64(len(c.Initrd)))
	if err != nil {
		return nil, err
	}
	place := (at - uint64(len(tree))) &^ (1<<20 - 1)
	if place > at || place < s.PA+s.MemSize {
		return nil, fmt.Errorf("%d MiB of memory are too few for it and an initial file system of %d bytes: give the machine more", c.RAM>>20, len(c.Initrd))
	}
	chunks := []sim.Chunk{{PA: place, Data: tree}}
	if len(c.Initrd) > 0 {
		chunks = append(chunks, sim.Chunk{PA: at, Data: c.Initrd})
	}
	root := arm.Unpaged(base)
	return &sim.Bare{
		Root: root, Others: root, PC: base + c.Kernel.Image.Entry, Args: []uint64{0, noMachine, base + place},
		Chunks: chunks,
	}, nil
}

// boardTree writes into the board's tree what a boot loader does: memory, parameters, initial file system, and which of the
// described parts are there.
func (c *Config) boardTree(board Described, initrd, size uint64) ([]byte, error) {
	root, err := readTree(c.Tree)
	if err != nil {
		return nil, err
	}
	base, _ := board.Memory()
	root.child("memory").set("reg", words(0, uint32(base), 0, uint32(c.RAM)))
	chosen := root.child("chosen")
	chosen.set("bootargs", append([]byte(c.Command), 0))
	if size > 0 {
		chosen.set("linux,initrd-start", words(uint32(base+initrd)))
		chosen.set("linux,initrd-end", words(uint32(base+initrd+size)))
	}
	root.disable(board)
	here := uint32(c.CPU.Processor["cluster"]) << 8
	cpus, n := root.child("cpus"), 0
	cpus.children = slices.DeleteFunc(cpus.children, func(p *treeNode) bool {
		number := p.get("reg")
		if len(number) != 4 {
			return false
		}
		if binary.BigEndian.Uint32(number)-here >= uint32(max(c.CPUs, 1)) {
			return true
		}
		n++
		return false
	})
	if n != max(c.CPUs, 1) {
		return nil, fmt.Errorf("%d CPUs: the device tree has %d of this kind", c.CPUs, n)
	}
	return flatten(root), nil
}
