/* Printing by the serial port, and leaving by a call that qemu takes for itself (Semihosting for AArch32, SYS_EXIT). */
#include <asm/irq.h>
#include "../io.h"

#define SEMIHOSTED_EXIT 0x18	/* SYS_EXIT, which is another number in linux/user.h */
#define ENDED_WELL 0x20026
#define ENDED_BADLY 0x20023

void put_char(char c)
{
	write_device(CONSOLE, (unsigned char)c);
}

void end_run(unsigned char code)
{
	register unsigned long r0 asm("r0") = SEMIHOSTED_EXIT;
	register unsigned long r1 asm("r1") = code ? ENDED_BADLY : ENDED_WELL;

	for (;;)
		asm volatile("svc #0x123456" : "+r"(r0) : "r"(r1) : "lr", "memory");
}
