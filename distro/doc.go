// Package distro boots the kernel of a distribution on a simulated PC, or one of ARM on a Versatile Express board, in the place of firmware and boot loader.
//
// It puts kernel, command line and initial file system into memory and enters the kernel by the x86 boot
// protocol, version 2.15 (Documentation/x86/boot.rst): a kernel of 64 bits in 64-bit mode with an identity map, one of
// 32 bits in 32-bit mode with paging off. Further CPUs wait until the kernel starts them, in real mode. It finds them by
// the tables of the MultiProcessor Specification, which a board brings along (Firmware).
//
// A kernel of ARM is entered with translation off, as Documentation/arm/booting.rst says, on a board that a device tree
// describes. The tree comes with the kernel, and what a boot loader fills in is filled in here.
//
// Left out are EFI, ACPI tables and a framebuffer.
package distro
