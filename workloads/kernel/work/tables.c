/* Functions over tables: the kind of loops and look-ups that fill a kernel. */
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/workload.h>

#define BUFFER_SIZE 512
#define HASH_BITS 6
#define NODES 160
#define LIST_NODES 24

struct node {
	struct hlist_node chain;
	unsigned long key, value;
};

struct item {
	struct list_head list;
	unsigned long weight;
};

static u16 buffer[BUFFER_SIZE / 2] __aligned(64);
static struct hlist_head hash_table[1 << HASH_BITS];
static struct node nodes[NODES];
static struct item items[LIST_NODES];
static RING(item_list);

/* A step of a linear congruence; the upper bits are the good ones. */
static u64 next_number(u64 x)
{
	return x * 6364136223846793005ULL + 1442695040888963407ULL;
}

static void init_chain(unsigned long i, unsigned long key)
{
	nodes[i].key = key & 0xff;
	nodes[i].value = key >> 16;
	chain_push(&hash_table[hash_ptr((void *)nodes[i].key, HASH_BITS)], &nodes[i].chain);
}

/* Once: nodes that are in their lists stay there. */
void work_init(void)
{
	u64 x = 20100101;

	if (!ring_is_empty(&item_list))
		return;
	for (unsigned long i = 0; i < ARRAY_SIZE(buffer); i++)
		buffer[i] = (x = next_number(x)) >> 40;
	for (unsigned long i = 0; i < NODES; i++)
		init_chain(i, (x = next_number(x)) >> 20);
	for (unsigned long i = 0; i < LIST_NODES; i++) {
		items[i].weight = (x = next_number(x)) >> 50;
		ring_append(&item_list, &items[i].list);
	}
}

/* Internet checksum of up to 256 bytes of the buffer: length from a, start from b. */
__workload unsigned long work_checksum(unsigned long a, unsigned long b)
{
	const u16 *p = &buffer[b & 127];
	unsigned long sum = 0;

	for (unsigned long n = (a & 127) + 1; n; n--)
		sum += *p++;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum & 0xffff;
}

/* Finds the newest node with key a; b is the answer when there is none. */
__workload unsigned long work_hash_lookup(unsigned long a, unsigned long b)
{
	unsigned long key = a & 0xff;
	struct hlist_node *at = hash_table[hash_ptr((void *)key, HASH_BITS)].first;

	for (; at; at = at->next) {
		struct node *n = container_of(at, struct node, chain);

		if (n->key == key)
			return n->value;
	}
	return b;
}

/* Walks until the weights sum up to a limit. */
__workload unsigned long work_list_walk(unsigned long a, unsigned long b)
{
	unsigned long limit = a & 0x3ffff, sum = b & 0xff, steps = 0;

	for (const struct list_head *at = item_list.next; at != &item_list; at = at->next) {
		sum += container_of(at, struct item, list)->weight;
		steps++;
		if (sum > limit)
			break;
	}
	return sum ^ steps << BITS_PER_LONG / 2;
}

/* A dense switch: compiled to an indirect jump through a table. */
__workload unsigned long work_switch(unsigned long a, unsigned long b)
{
	switch (a & 15) {
	case 0: return b + 3;
	case 1: return b * 5;
	case 2: return b ^ 0x55;
	case 3: return b >> 3;
	case 4: return b - a;
	case 5: return b | a << 8;
	case 6: return ~b;
	case 7: return buffer[b & 255];
	case 8: return b & a;
	case 9: return b << (a >> 4 & 31);
	case 10: return -b;
	case 11: return b + nodes[b & 127].value;
	default: return a;
	}
}
