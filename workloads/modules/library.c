/*
 * Calls what headers offer, so that each name is known to compile, to be there, and to do what it says. Each part
 * includes what it calls.
 */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/kernel.h>

static int numbers[4], given;
module_param_array(numbers, int, &given, 0);
static char *text = "text";
module_param(text, charp, 0644);
static unsigned long word;
module_param_named(number, word, ulong, 0);

int exported_value = 42;
EXPORT_SYMBOL_GPL(exported_value);

/* Each check that fails is a line on the console. */
#define CHECK(c) do { if (!(c)) pr_err("failed: %s\n", #c); } while (0)

#include <linux/list.h>
#include <linux/slab.h>

static LIST_HEAD(ring);
static HLIST_HEAD(chain);

struct item {
	int value;
	struct list_head link;
	struct hlist_node member;
};

static void check_lists(void)
{
	struct item *at, *behind;
	int sum = 0;

	for (int i = 1; i <= 3; i++) {
		at = kmalloc(sizeof(*at), GFP_ATOMIC);
		if (!at)
			return;
		at->value = i;
		list_add_tail(&at->link, &ring);
		hlist_add_head(&at->member, &chain);
	}
	list_for_each_entry(at, &ring, link)
		sum = sum * 10 + at->value;
	CHECK(sum == 123);
	list_for_each_entry_safe(at, behind, &ring, link) {
		list_del(&at->link);
		hlist_del(&at->member);
		kfree(at);
	}
	CHECK(list_empty(&ring) && hlist_empty(&chain));
}

#include <linux/string.h>
#include <linux/limits.h>
#include <linux/kallsyms.h>
#include <linux/version.h>

static void check_texts(void)
{
	char line[80];
	unsigned long n;
	int small;

	snprintf(line, sizeof(line), "%5d|%-5d|%05d|%x|%#x|%lld|%c|%.2s|%%", -42, 42, -42, 255U, 255U,
		 -1234567890123LL, 'c', "abc");
	CHECK(!strcmp(line, "  -42|42   |-0042|ff|0xff|-1234567890123|c|ab|%"));
	snprintf(line, sizeof(line), "%u %lu %llu %i %ld %lx", 4294967295U, 7UL, 18446744073709551615ULL, -1, -2L, 16UL);
	CHECK(!strcmp(line, "4294967295 7 18446744073709551615 -1 -2 10"));
	snprintf(line, sizeof(line), "%p", (void *)0xab);
	CHECK(strlen(line) == 2 * sizeof(void *) && !strcmp(line + strlen(line) - 4, "00ab"));
	CHECK(snprintf(line, 4, "12345") == 5 && !strcmp(line, "123"));
	CHECK(scnprintf(line, 4, "12345") == 3);
	CHECK(strncmp("abcd", "abxx", 2) == 0 && strcmp("a", "b") < 0 && !strcmp(strchr("a/b", '/'), "/b"));
	CHECK(!strcmp(strrchr("a/b/c", '/'), "/c") && !strcmp(strstr("a probe", "pro"), "probe"));
	CHECK(strlcpy(line, "too long", 4) == 8 && !strcmp(line, "too"));
	CHECK(!memcmp(memmove(line + 1, line, 3), "too", 3));
	CHECK(simple_strtoul("0x1f", NULL, 0) == 31 && simple_strtol("-12", NULL, 10) == -12);
	CHECK(!kstrtoul("77\n", 8, &n) && n == 63 && kstrtoul("7x", 10, &n) == -EINVAL);
	CHECK(!kstrtoint("-5", 10, &small) && small == -5 && kstrtoint("9999999999", 10, &small) == -ERANGE);
	sprint_symbol(line, (unsigned long)&check_texts);
	CHECK(!strncmp(line, "check_texts+0x0/0x", 18));
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 7, 0)
	sprint_symbol(line, kallsyms_lookup_name("do_fork"));
	CHECK(!strncmp(line, "do_fork+0x0/0x", 14));
	CHECK(!kallsyms_lookup_name("no such name"));
#endif
}

#include <asm/div64.h>
#include <linux/math64.h>
#include <linux/ktime.h>
#include <linux/delay.h>
#include <linux/jiffies.h>

static void check_time(void)
{
	ktime_t before = ktime_get(), after;
	u64 n = 1000000000007ULL;
	u32 rest = do_div(n, 1000);
	unsigned long tick = jiffies;

	CHECK(n == 1000000000ULL && rest == 7);
	CHECK(div_s64(-7000000000LL, 1000) == -7000000);
	udelay(3);
	after = ktime_get();
	CHECK(ktime_us_delta(after, before) >= 3 && ktime_compare(before, after) < 0);
	CHECK(ktime_to_ns(ktime_add(ktime_set(1, 5), ns_to_ktime(2))) == 1000000007LL);
	msleep(2);
	CHECK(time_after_eq(jiffies, tick + 2));
}

#include <linux/bitops.h>
#include <linux/atomic.h>
#include <linux/mutex.h>

static atomic_t count = ATOMIC_INIT(3);
static DEFINE_MUTEX(lock);

static void check_changes(void)
{
	unsigned long bits = 0;

	CHECK(atomic_inc_return(&count) == 4 && atomic_dec_and_test(&count) == 0 && atomic_cmpxchg(&count, 3, 9) == 3);
	set_bit(3, &bits);
	CHECK(bits == 8 && test_bit(3, &bits));
	mutex_lock(&lock);
	CHECK(!mutex_trylock(&lock));
	mutex_unlock(&lock);
}

#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

static DEFINE_PER_CPU(int, per);

static void check_cpus(void)
{
	unsigned long flags;

	get_cpu_var(per)++;
	put_cpu_var(per);
	CHECK(per_cpu(per, 0) + per_cpu(per, 1) > 0);
	local_irq_save(flags);
	CHECK(irqs_disabled());
	local_irq_restore(flags);
	rcu_read_lock();
	rcu_read_unlock();
	CHECK(num_online_cpus() >= 1 && smp_processor_id() < num_online_cpus());
}

#include <linux/sched.h>
#include <linux/interrupt.h>
#include <linux/err.h>
#include <linux/bug.h>

static void check_tasks(void)
{
	CHECK(IS_ERR(ERR_PTR(-EINVAL)) && PTR_ERR(ERR_PTR(-EINVAL)) == -EINVAL && !IS_ERR(&ring));
	CHECK(!in_interrupt() && current->pid > 0 && strnlen(current->comm, TASK_COMM_LEN) < TASK_COMM_LEN);
	BUILD_BUG_ON(sizeof(long) != sizeof(void *));
	BUG_ON(list_empty(&ring) == 0);
}

#include <linux/uaccess.h>
#include <linux/vmalloc.h>

static void check_memory(void)
{
	char *copy = kstrdup(text, GFP_KERNEL);
	char byte;

	CHECK(copy && !strcmp(copy, text));
	kfree(copy);
	kfree(NULL);
	CHECK(!probe_kernel_read(&byte, text, 1) && byte == text[0]);
	CHECK(probe_kernel_read(&byte, (void *)16, 1) == -EFAULT);
}

/* These need only be there. */
#include <linux/kprobes.h>
#include <linux/hrtimer.h>
#include <linux/notifier.h>
#include <linux/ptrace.h>

static int __init library_init(void)
{
	check_lists();
	check_texts();
	check_time();
	check_changes();
	check_cpus();
	check_tasks();
	check_memory();
	pr_notice("%s %lu %d:", text, word, given);
	for (int i = 0; i < given; i++)
		pr_cont(" %d", numbers[i]);
	pr_cont("\n");
	if (!try_module_get(THIS_MODULE))
		return -EBUSY;
	CHECK(module_refcount(THIS_MODULE) == 1);
	module_put(THIS_MODULE);
	return 0;
}

static void __exit library_exit(void)
{
	pr_info("%d left\n", module_refcount(THIS_MODULE));
}

module_init(library_init);
module_exit(library_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION("1");
