// Package distro boots the kernel of a distribution on a simulated PC, in the place of firmware and boot loader.
//
// It puts kernel, command line and initial file system into memory and enters the kernel by the x86 boot
// protocol, version 2.15 (Documentation/x86/boot.rst): in 64-bit mode with an identity map where the kernel has
// that entry, in 32-bit mode with paging off otherwise. The machine has one CPU.
//
// Left out are EFI, ACPI tables, a framebuffer, and further CPUs, which would begin in real mode.
package distro
