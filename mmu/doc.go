// Package mmu models what lies between a CPU and the data it names: physical memory, page tables
// and their walkers, translation look-aside buffers, and caches with their timing.
//
// Formats follow the Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3,
// chapter 4 (4-level paging, 4 KiB and 2 MiB pages). Left out: 1 GiB pages, protection keys,
// PCID, write-back traffic and the bandwidth of memory. Caches hold tags and no data: memory is
// always current, so a cache decides when a value arrives and never which value.
package mmu
