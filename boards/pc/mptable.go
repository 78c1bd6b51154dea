package pc

import (
	"encoding/binary"
	"errors"
	"fmt"

	"kprobesim/cpus"
	"kprobesim/cpus/x86"
	"kprobesim/sim"
)

// The tables by which a kernel finds further processors (Intel, MultiProcessor Specification 1.4, chapter 4): a pointer,
// a header, and an entry for each processor, bus, and way of an interrupt.

// Where firmware keeps its data: in the last KiB of base memory, whose segment the word at 40:0E names.
const (
	extendedBIOS = 0x9fc00
	segmentOfIt  = 0x40e

	mpPointerSize   = 16
	mpHeaderSize    = 44
	mpProcessorSize = 20
	mpOtherSize     = 8
	mpRevision      = 4

	mpMost = 32 // processors for which there is room
)

// Types of entries, and what they say.
const (
	mpProcessor = 0
	mpBus       = 1
	mpIOAPIC    = 2
	mpInterrupt = 3
	mpLocal     = 4

	mpEnabled   = 1 << 0
	mpBootstrap = 1 << 1

	mpINT, mpNMI, mpExtINT = 0, 1, 3
)

// Firmware returns the tables of firmware in memory that tell a kernel of several processors: nothing for one. It fails where
// processors have no local APIC, and where there are more than fit.
func (l Legacy) Firmware(cfg *cpus.Config, n int) ([]sim.Chunk, error) {
	if n < 2 {
		return nil, nil
	}
	if !x86.HasLocalAPIC(cfg) {
		return nil, errors.New("its processors say by cpuid that they have no local APIC: use one of them")
	}
	if n > mpMost {
		return nil, fmt.Errorf("%d CPUs: firmware's table has room for %d", n, mpMost)
	}
	table := mpTable(n)
	pointer := mpPointer(extendedBIOS + mpPointerSize)
	return []sim.Chunk{
		{PA: segmentOfIt, Data: []byte{extendedBIOS >> 4 & 0xff, extendedBIOS >> 12}},
		{PA: extendedBIOS, Data: append(pointer, table...)},
	}, nil
}

// mpPointer is the structure that kernels look for; its last five bytes say that there is a table.
func mpPointer(table uint32) []byte {
	b := make([]byte, mpPointerSize)
	copy(b, "_MP_")
	binary.LittleEndian.PutUint32(b[4:], table)
	b[8], b[9] = 1, mpRevision
	b[10] = checksum(b)
	return b
}

// mpTable lists n processors, the bus, and the interrupts.
func mpTable(n int) []byte {
	b, entries := make([]byte, mpHeaderSize), 0
	add := func(e ...byte) {
		b = append(b, e...)
		entries++
	}
	for i := range n {
		e := make([]byte, mpProcessorSize)
		e[0], e[1], e[2], e[3] = mpProcessor, byte(i), version&0xff, mpEnabled
		if i == 0 {
			e[3] |= mpBootstrap
		}
		add(e...)
	}
	add(append([]byte{mpBus, 0}, "ISA   "...)...)
	io := ioapicID(n)
	add(mpIOAPIC, io, ioapicVersion&0xff, mpEnabled, ioapicBase&0xff, ioapicBase>>8&0xff, ioapicBase>>16&0xff, ioapicBase>>24)
	for irq := range byte(16) {
		switch irq {
		case irqTimer:
			add(mpInterrupt, mpINT, 0, 0, 0, irq, io, timerInput)
		case cascade:
		default:
			add(mpInterrupt, mpINT, 0, 0, 0, irq, io, irq)
		}
	}
	const all = 0xff
	add(mpLocal, mpExtINT, 0, 0, 0, 0, all, 0)
	add(mpLocal, mpNMI, 0, 0, 0, 0, all, 1)
	le := binary.LittleEndian
	copy(b, "PCMP")
	le.PutUint16(b[4:], uint16(len(b)))
	b[6] = mpRevision
	copy(b[8:], "KPROBSIM")
	copy(b[16:], "PC          ")
	le.PutUint16(b[34:], uint16(entries))
	le.PutUint32(b[36:], x86.APICBase)
	b[7] = checksum(b)
	return b
}

// ioapicID is the identifier of the I/O APIC beside n processors: the next one, as far as its four bits go.
func ioapicID(n int) uint8 { return uint8(min(n, 15)) }

// checksum makes the sum of all bytes zero.
func checksum(b []byte) (sum byte) {
	for _, v := range b {
		sum -= v
	}
	return sum
}
