// Package mmu models what lies between a CPU and the data it names: physical memory, translation
// look-aside buffers, and caches with their timing and, for several CPUs, the MESI states that keep them
// coherent (Intel SDM, volume 3, 11.4, and any textbook).
//
// Formats of page tables, and their walkers, belong to the instruction sets, and so does the order of
// bytes. A TLB tags its entries with an address space and holds pages of several sizes; the size of a
// cache's line is the machine description's.
//
// Left out: write-back traffic, caches that CPUs share, and the bandwidth of buses and memory. Caches hold
// tags and no data: memory is always current, so a cache decides when a value arrives and never which
// value. Coherence, too, is a matter of time alone: what a CPU stores, the next instruction of any other
// reads.
//
// Instruction caches that are not coherent are the exception: what they keep is in package engine.
package mmu
