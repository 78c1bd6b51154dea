/* Descriptor tables, exception gates and per-CPU state of one CPU. */
#include <linux/guest.h>
#include <asm/processor.h>
#include <asm/ptrace.h>

#define GDT_ENTRIES 10

extern u64 boot_gdt[GDT_ENTRIES];
/* First, so that no variable has address 0. */
__section(".percpu.first") unsigned long this_cpu_off;
DEFINE_PER_CPU(unsigned int, cpu_number);
#ifdef __x86_64__
DEFINE_PER_CPU(int, irq_count) = -1;
DEFINE_PER_CPU(unsigned long, irq_stack_ptr);
#endif
DEFINE_PER_CPU_ALIGNED(struct tss, init_tss);
DEFINE_PER_CPU_ALIGNED(u64, gdt[GDT_ENTRIES]);

struct gate idt[256] __aligned(4096);

struct vector {
	u8 nr;
	u8 stack;
	void (*entry)(void);
};

void divide_error(void), debug(void), nmi(void), int3(void), overflow(void), bounds(void);
void invalid_op(void), device_not_available(void), double_fault(void), invalid_tss(void);
void segment_not_present(void), stack_segment(void), general_protection(void), page_fault(void);
void coprocessor_error(void), alignment_check(void), machine_check(void), simd_error(void);
void timer_interrupt_entry(void), reschedule_interrupt(void), spurious_interrupt(void);
void call_function_interrupt(void);

static const struct vector vectors[] = {
	{ 0, 0, divide_error },
	{ 1, DEBUG_STACK, debug },
	{ 2, NMI_STACK, nmi },
	{ 3, ERA_INT3_IST ? DEBUG_STACK : 0, int3 },
	{ 4, 0, overflow },
	{ 5, 0, bounds },
	{ 6, 0, invalid_op },
	{ 7, 0, device_not_available },
	{ 8, DOUBLEFAULT_STACK, double_fault },
	{ 10, 0, invalid_tss },
	{ 11, 0, segment_not_present },
	{ 12, 0, stack_segment },
	{ 13, 0, general_protection },
	{ 14, 0, page_fault },
	{ 16, 0, coprocessor_error },
	{ 17, 0, alignment_check },
	{ 18, 0, machine_check },
	{ 19, 0, simd_error },
	{ LOCAL_TIMER_VECTOR, 0, timer_interrupt_entry },
	{ RESCHEDULE_VECTOR, 0, reschedule_interrupt },
	{ CALL_FUNCTION_VECTOR, 0, call_function_interrupt },
	{ SPURIOUS_VECTOR, 0, spurious_interrupt },
};

/* Interrupt gates of privilege level 0; vectors without a row stay not present. */
static void set_gate(const struct vector *v)
{
	unsigned long at = (unsigned long)v->entry;

	idt[v->nr] = (struct gate){
		.offset_low = at,
		.segment = __KERNEL_CS,
		.bits = 0x8e00 | v->stack,
		.offset_middle = at >> 16,
#ifdef __x86_64__
		.offset_high = at >> 32,
#endif
	};
}

void traps_init(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++)
		set_gate(&vectors[i]);
}

/* A descriptor that begins at an address; what is beyond 32 bits goes elsewhere. */
static u64 descriptor(unsigned long at, u64 limit, u64 bits)
{
	return (limit & 0xffff) | (limit >> 16 & 15) << 48 | (u64)(at & 0xffffff) << 16 |
	       (u64)(at >> 24 & 0xff) << 56 | bits << 40;
}

static void load_tables(u64 *table, struct tss *tss, unsigned long base __unused)
{
	struct desc_ptr gdt_ptr = { GDT_ENTRIES * 8 - 1, (unsigned long)table };
	struct desc_ptr idt_ptr = { sizeof(idt) - 1, (unsigned long)idt };

	for (int i = 0; i < GDT_ENTRIES; i++)
		table[i] = boot_gdt[i];
	table[__TSS_SEL / 8] = descriptor((unsigned long)tss, sizeof(*tss) - 1, 0x89);
#ifdef __x86_64__
	table[__TSS_SEL / 8 + 1] = (u64)tss >> 32;
#else
	table[__KERNEL_PERCPU / 8] = descriptor(base, 0xfffff, 0xc093);
#endif
	asm volatile("lgdt %0" :: "m"(gdt_ptr));
	asm volatile("lidt %0" :: "m"(idt_ptr));
	asm volatile("ltr %w0" :: "r"(__TSS_SEL));
#ifdef __i386__
	asm volatile("mov %w0, %%fs" :: "r"(__KERNEL_PERCPU));
#endif
}

#ifdef __x86_64__
extern char fault_stack_end[], debug_stack_end[], nmi_stack_end[], irq_stack_end[];

_Static_assert(offsetof(struct tss, ist) == TSS_IST, "entry_64.S");

/* The stacks that exceptions and interrupts change to. */
static void set_stacks(struct tss *tss, unsigned long base)
{
	percpu_write(irq_stack_ptr, base + (unsigned long)irq_stack_end - 64);
	tss->ist[DOUBLEFAULT_STACK - 1] = base + (unsigned long)fault_stack_end;
	tss->ist[NMI_STACK - 1] = base + (unsigned long)nmi_stack_end;
	tss->ist[DEBUG_STACK - 1] = base + (unsigned long)debug_stack_end;
}
#else
static void set_stacks(struct tss *tss, unsigned long base __unused)
{
	tss->ss0 = __KERNEL_DS;
}
#endif

void cpu_init(unsigned long cpu, unsigned long base)
{
	struct tss *tss = per_cpu_ptr_of(init_tss, base);

	tss->io_bitmap_base = sizeof(*tss);
	load_tables(*per_cpu_ptr_of(gdt, base), tss, base);
	*per_cpu_ptr_of(this_cpu_off, base) = base;
	percpu_write(cpu_number, cpu);
	set_stacks(tss, base);
}
