/* Handlers of watchpoints, and loops over words that may be watched. */
#include <linux/guest.h>
#include <linux/kwatch.h>
#include <linux/workload.h>

#define WATCHED_WORDS 64

__kwatch_data __aligned(64) unsigned long watched_words[WATCHED_WORDS] = { 0 };
__kwatch_data unsigned long kwatch_hits = 0;
__kwatch_data unsigned long kwatch_last_ip = 0;

__kwatch __used void kwatch_empty(struct kwatch *watch __unused, struct pt_regs *regs __unused)
{
}

__kwatch __used void kwatch_count(struct kwatch *watch __unused, struct pt_regs *regs)
{
	atomic_long_inc(&kwatch_hits);
	kwatch_last_ip = instruction_pointer(regs);
}

/* Does what it watches for: the word changes once more, and the handler does not run for that. */
__kwatch __used void kwatch_nested(struct kwatch *watch, struct pt_regs *regs)
{
	*(volatile unsigned char *)watch->addr = 1;
	kwatch_count(watch, regs);
}

/* Functions as the loops of probes call them: a says which word, b what is stored. */
__kwatch __used unsigned long watch_store(unsigned long a, unsigned long b)
{
	WRITE_VOLATILE(watched_words[a & (WATCHED_WORDS - 1)], b);
	return b;
}

__kwatch __used unsigned long watch_load(unsigned long a, unsigned long b)
{
	return READ_VOLATILE(watched_words[a & (WATCHED_WORDS - 1)]) + b;
}

/* A store and a load in some bytes, of a number that says where and how wide: width << 16 | offset. */
__kwatch __used unsigned long watch_access(unsigned long what, unsigned long store)
{
	char *at = (char *)watched_words + (what & 0xffff);

	switch (what >> 16 << 1 | store) {
	case 2:
		return *(volatile u8 *)at;
	case 3:
		*(volatile u8 *)at = what;
		break;
	case 4:
		return *(volatile u16 *)at;
	case 5:
		*(volatile u16 *)at = what;
		break;
	case 8:
		return *(volatile u32 *)at;
	case 9:
		*(volatile u32 *)at = what;
		break;
	}
	return 0;
}
