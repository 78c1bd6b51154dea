// Package image reads guest kernels as they were linked: which bytes belong where in memory, what
// symbols, functions and source lines addresses belong to, how structures are laid out, and which step
// of a probe hit a piece of code is. It reads ELF (System V Application Binary Interface, edition 4.1)
// and DWARF, versions 2 to 5.
//
// It leaves out everything that a statically linked executable does not need: relocations, dynamic
// linking. Package object below it reads object files; what a module adds to the names of a kernel is a Module. Files of any origin may be given to it: damage is an error, never a panic.
package image
