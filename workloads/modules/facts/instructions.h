/* Which instructions take a probe, and what lies in them. Nobody executes these. */

#ifdef CONFIG_X86
#ifdef __x86_64__
#define WIDTH(wide, narrow) wide
#else
#define WIDTH(wide, narrow) narrow
#endif
#define AX WIDTH("%rax", "%eax")

#define INSTRUCTIONS(X)					\
	X(nop, "nop")					\
	X(move, "movl $1, %eax")			\
	X(push, "push " AX)				\
	X(add, "add %eax, (" AX ")")			\
	X(locked, "lock; addl $1, (" AX ")")		\
	X(string, "rep; movsb")				\
	X(call, "call fact_plain")			\
	X(jump, "jmp 1f; 1:")				\
	X(far_jump, ".byte 0xe9, 0, 0, 0, 0")		\
	X(branch, "je 1f; 1:")				\
	X(far_branch, ".byte 0x0f, 0x84, 0, 0, 0, 0")	\
	X(loop, "loop 1f; 1:")				\
	X(loop_equal, "loope 1f; 1:")			\
	X(counter_zero, WIDTH("jrcxz", "jecxz") " 1f; 1:") \
	X(return, ".byte 0xc3")				\
	X(return_pop, ".byte 0xc2, 8, 0")		\
	X(return_far, ".byte 0xcb")			\
	X(return_interrupt, ".byte 0xcf")			\
	X(call_register, ".byte 0xff, 0xd0")		\
	X(jump_register, ".byte 0xff, 0xe0")		\
	X(call_memory, ".byte 0xff, 0x10")		\
	X(jump_memory, ".byte 0xff, 0x20")		\
	X(call_far_memory, ".byte 0xff, 0x18")		\
	X(jump_far_memory, ".byte 0xff, 0x28")		\
	X(interrupts_off, "cli")			\
	X(interrupts_on, "sti")				\
	X(flags_pushed, "pushf")			\
	X(flags_popped, "popf")				\
	X(halt, "hlt")					\
	X(breakpoint, "int3")				\
	X(interrupt, "int $0x80")			\
	X(undefined, "ud2")				\
	X(processor, "cpuid")				\
	X(counter, "rdtsc")				\
	X(control, "mov %cr3, " AX)			\
	X(port_in, "inb (%dx), %al")			\
	X(port_out, "outb %al, (%dx)")			\
	X(virtual_call, "vmcall")			\
	X(virtual_launch, "vmlaunch")			\
	X(descriptor, "sgdt (" AX ")")			\
	X(swap, "bswap " AX)				\
	X(exchange, "cmpxchg %ecx, (" AX ")")		\
	X(set, "sete %al")				\
	X(shift, "shl %cl, %eax")			\
	X(divide, "div %ecx")				\
	X(leave, "leave")				\
	X(prefixed, ".byte 0x66, 0x90")			\
	X(segment, "mov %ax, %ds")			\
	X(fence, ".byte 0x0f, 0xae, 0xf0")		\
	X(pause, "pause")

#define DEFINED(name, text)						\
	asm(".pushsection .text\n"					\
	    ".type fact_insn_" #name ", @function\n"			\
	    "fact_insn_" #name ": " text "\n\tud2\n"			\
	    ".size fact_insn_" #name ", . - fact_insn_" #name "\n"	\
	    ".popsection");
INSTRUCTIONS(DEFINED)

#define ASKED(name, text) FACT("instruction." #name, at_symbol("fact_insn_" #name, 0));

static void instructions(void)
{
	INSTRUCTIONS(ASKED)
	FACT("instruction.inside", at_symbol("fact_insn_move", 1));
	FACT("instruction.last-byte", at_symbol("fact_insn_move", 4));
	FACT("instruction.second", at_symbol("fact_insn_move", 5));
	FACT("instruction.behind-breakpoint", at_symbol("fact_insn_breakpoint", 1));
	FACT("instruction.behind-prefix", at_symbol("fact_insn_prefixed", 1));
	FACT("instruction.in-first-nop", at_symbol("fact_traced", 1));
}
#else
static void instructions(void)
{
	FACT("instruction.unaligned", at_symbol("fact_plain", 2));
	FACT("instruction.second", at_symbol("fact_plain", 4));
}
#endif
