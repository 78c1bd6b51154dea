// Package judging holds the price of short blocks of code under a machine description against the time that they take on a
// processor: on the host, or in a list of measured blocks. Blocks are cut at random from executables. Both sides execute the same
// loop of copies of a block, from the same registers, flags and memory. Everything lies in the first-level cache.
package judging
