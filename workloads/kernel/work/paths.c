/* Functions with calls, locks, copies, recursion and faults. */
#include <linux/guest.h>
#include <linux/workload.h>

#define PAGES 4
#define PAGE_BYTES 256
#define EFAULT 14
#define EINVAL 22

struct page_of_file {
	spinlock_t lock;
	unsigned int uptodate;
	unsigned long reads;
	unsigned char data[PAGE_BYTES];
};

struct file {
	const struct file_operations *ops;
	unsigned long size;
	struct page_of_file pages[PAGES];
};

struct file_operations {
	long (*read)(struct file *f, unsigned char *to, unsigned long n, unsigned long at);
};

static long helper_generic_read(struct file *f, unsigned char *to, unsigned long n,
				unsigned long at);

static const struct file_operations file_ops = { .read = helper_generic_read };
static struct file the_file = { .ops = &file_ops, .size = PAGES * PAGE_BYTES - 100 };

/* Makes a page's content on first use, so that later reads do not depend on the order. */
static void fill_page(struct page_of_file *page, unsigned long index)
{
	for (unsigned long i = 0; i < PAGE_BYTES; i++)
		page->data[i] = (i * 7 + index * 31) ^ i >> 3;
	page->uptodate = 1;
}

static __workload unsigned long helper_copy(unsigned char *to, const unsigned char *from,
					    unsigned long n)
{
	copy_words(to, from, n);
	return n;
}

static __workload long helper_generic_read(struct file *f, unsigned char *to, unsigned long n,
					   unsigned long at)
{
	unsigned long done = 0, flags;

	if (at >= f->size)
		return 0;
	n = min(n, f->size - at);
	while (done < n) {
		struct page_of_file *page = &f->pages[(at + done) / PAGE_BYTES];
		unsigned long in_page = (at + done) % PAGE_BYTES;
		unsigned long chunk = min(n - done, PAGE_BYTES - in_page);

		spin_lock_irqsave(&page->lock, flags);
		if (unlikely(!page->uptodate))
			fill_page(page, (at + done) / PAGE_BYTES);
		done += helper_copy(to + done, page->data + in_page, chunk);
		page->reads++;
		spin_unlock_irqrestore(&page->lock, flags);
	}
	return done;
}

/* Reads up to 128 bytes at an offset into the stack and folds them: checks, an indirect call,
   a lock with interrupts off, copies. */
__workload unsigned long work_read(unsigned long a, unsigned long b)
{
	unsigned char to[128];
	struct file *f = &the_file;
	long n = (a & 127) + 1, got;
	unsigned long sum = 0;

	if (unlikely(!f->ops || !f->ops->read))
		return -EINVAL;
	got = f->ops->read(f, to, n, b & 1023);
	for (long i = 0; i < got; i++)
		sum = (sum << 5 | sum >> (BITS_PER_LONG - 5)) ^ to[i];
	return sum + got;
}

/* Writes a record under a lock, reads it back with the lock held, as short critical sections do. */
__workload unsigned long work_locked_update(unsigned long a, unsigned long b)
{
	static DEFINE_SPINLOCK(lock);
	static struct { unsigned long first, second, sum; } record;
	unsigned long result;

	spin_lock(&lock);
	record.first = a;
	record.second = b;
	record.sum = a + b;
	result = record.sum ^ record.first;
	spin_unlock(&lock);
	return result;
}

/* Depth up to 12; every level has a frame and a call in the middle. */
__workload __attribute__((noclone, noipa))
unsigned long work_recursive(unsigned long a, unsigned long b)
{
	unsigned long depth = a & 15;

	if (depth > 12)
		depth = 12;
	if (depth == 0)
		return b + 1;
	return work_recursive(depth - 1, b * 3 + depth) * 2 + depth;
}

/* An even a reads kernel memory, an odd one an address that is never mapped. */
__workload unsigned long work_faulting(unsigned long a, unsigned long b)
{
	static const unsigned long words[4] = { 11, 22, 33, 44 };
	const unsigned long *at = a & 1 ? (const unsigned long *)(0x1000 + (b & 0xff8))
					: &words[b & 3];
	unsigned long v;
	long err = 0;

	v = load_or_error(at, -EFAULT, &err);
	return v + err + (a >> 1);
}

/* Division and multiplication, whose operands are implied registers. */
__workload unsigned long work_divide(unsigned long a, unsigned long b)
{
	unsigned long d = (b & 0xffff) + 1;

	return a / d + a % d * 3;
}

/* Locked read-modify-write instructions on a word that is put back. */
__workload unsigned long work_atomic(unsigned long a, unsigned long b)
{
	unsigned long word = a, old = b;

	old = atomic_long_fetch_add(old, &word);
	atomic_long_or(a, &word);
	atomic_long_dec(&word);
	return word ^ old;
}
