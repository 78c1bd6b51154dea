// Package mmu models what lies between a CPU and the data it names: physical memory, page tables
// and their walkers, translation look-aside buffers, and caches with their timing and, for several CPUs,
// the MESI states that keep them coherent.
//
// Formats follow the Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3,
// chapter 4 (4-level paging, 4 KiB and 2 MiB pages). Left out: 1 GiB pages, protection keys,
// PCID, write-back traffic, caches that CPUs share, and the bandwidth of buses and memory. Caches hold
// tags and no data: memory is always current, so a cache decides when a value arrives and never which
// value. Coherence, too, is a matter of time alone: what a CPU stores, the next instruction of any other
// reads.
package mmu
