// Package attaching attaches programs of BPF to a packaged kernel, in each way that such a kernel has, by the system calls that
// loaders make.
//
// The program in the machine makes one call after the other and knows nothing of them (distro/init/measure.c). What the calls
// hold is made here: the bytecode, by the assembler of github.com/cilium/ebpf or from an object file by its loader, the structures of
// linux/bpf.h and linux/perf_event.h, and the types of the kernel that a program names, from the kernel's own BTF. A refusal bears the error
// number of the call, and that of a program what the verifier said.
//
// Places in programs are found by symbol tables and by notes of static probes, in files of the guest's root.
//
// Numbers of commands, types and fields come from the headers of Linux 6.1, and of 6.12 for links of several user probes
// (include/uapi/linux). Numbers of system calls, pointers and names of functions of
// system calls differ by instruction set (machine.go). Arguments of static probes are known of x86-64 alone.
package attaching
