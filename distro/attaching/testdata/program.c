/* A program with static probes, as tracers of programs know them: each has a note (sourceware.org/systemtap/wiki/
   UserSpaceProbeImplementation). */

volatile unsigned short listeners __attribute__((section(".probes")));

/* Addresses are those of the note, the probe, the section by which tools see whether a program was moved, and a counter; 0 for none. */
#define NOTE(name, counter, arguments) \
	"990:\tnop\n\t.pushsection .note.stapsdt, \"?\", \"note\"\n\t.balign 4\n\t.4byte 992f-991f, 994f-993f, 3\n" \
	"991:\t.asciz \"stapsdt\"\n992:\t.balign 4\n993:\t.8byte 990b, _.stapsdt.base, " counter "\n\t" \
	".asciz \"kprobesim\"\n\t.asciz \"" name "\"\n\t.asciz \"" arguments "\"\n994:\t.balign 4\n\t.popsection\n\t"

__asm__(".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n\t.weak _.stapsdt.base\n\t.hidden _.stapsdt.base\n"
	"_.stapsdt.base:\t.space 1\n\t.popsection");

static void step(long big, signed char *low, int part)
{
	__asm__ volatile(NOTE("step", "listeners", "-4@$-7 8@%0 -1@1(%1) 1@%b2") :: "r"(big), "r"(low), "q"(part));
}

void _start(void)
{
	static signed char bytes[] = { 1, -2 };

	for (int i = 0; i < 2; i++)
		step(1234567890123, bytes, 0x7c8);
	/* The same probe at another place. */
	__asm__ volatile(NOTE("step", "listeners", "-8@$-7 8@%0 -1@(%1) 1@$200") :: "r"(1234567890123), "r"(bytes + 1));
	__asm__ volatile(NOTE("strange", "0", "8@listeners(%rip)"));
	__asm__ volatile("syscall" :: "a"(60), "D"(0));
	__builtin_unreachable();
}
