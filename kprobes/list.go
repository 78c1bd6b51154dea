package kprobes

import (
	"errors"

	"kprobesim/image"
)

// links are the two pointers of a list or hlist node, at their offsets in a structure.
type links struct{ next, prev image.Field }

// The kernel's values in the pointers of a node that has left its list.
const poison = 0xdead000000200200

// Hash chains: a head is one pointer; a node points to the next one and to the pointer that points
// to it. Pointers are written in an order that is safe for readers without locks.

// hlistAdd fills in the node before the head leads to it: find_probe walks chains without a lock.
func (k *Kprobes) hlistAdd(head, node uint64, l links) {
	first := k.m.Load(head, k.l.list)
	k.m.Store(node, l.next, first)
	k.m.Store(node, l.prev, head)
	k.m.Store(head, k.l.list, node+l.next.Offset)
	if first != 0 {
		k.m.Store(first-l.next.Offset, l.prev, node+l.next.Offset)
	}
}

// hlistDel leaves the node's own next pointer to readers that stand on it, until the grace period
// is over.
func (k *Kprobes) hlistDel(node uint64, l links) {
	next, pprev := k.m.Load(node, l.next), k.m.Load(node, l.prev)
	k.m.Store(pprev, k.l.list, next)
	if next != 0 {
		k.m.Store(next-l.next.Offset, l.prev, pprev)
	}
	k.m.Store(node, l.prev, poison)
}

// hlistReplace puts node in the place of old.
func (k *Kprobes) hlistReplace(old, node uint64, l links) {
	next, pprev := k.m.Load(old, l.next), k.m.Load(old, l.prev)
	k.m.Store(node, l.next, next)
	k.m.Store(node, l.prev, pprev)
	k.m.Store(pprev, k.l.list, node+l.next.Offset)
	if next != 0 {
		k.m.Store(next-l.next.Offset, l.prev, node+l.next.Offset)
	}
	k.m.Store(old, l.prev, poison)
}

// ring notices that a chain of the guest leads back into itself, which would be walked for ever: the node that was the
// last power of two comes again (Brent, 1980).
type ring struct {
	mark        uint64
	seen, until int
}

// closes reports whether the next node of a walk is one that has been there.
func (r *ring) closes(n uint64) bool {
	if n == r.mark {
		return true
	}
	if r.seen++; r.seen > r.until {
		r.mark, r.until = n, 2*r.seen
	}
	return false
}

var errRing = errors.New("the list leads back into itself: somebody has put a member on it twice")

// hlist returns the structures of a chain.
func (k *Kprobes) hlist(head uint64, l links) []uint64 { return k.chain(head, k.l.list, l.next, 0) }

// chain returns the structures of a list, from the node that a member of its head leads to up to the last, or to one at end.
func (k *Kprobes) chain(head uint64, first, next image.Field, end uint64) (all []uint64) {
	var r ring
	for n := k.m.Load(head, first); n != end && n != 0; n = k.m.Load(n-next.Offset, next) {
		if r.closes(n) {
			k.m.Fail(errRing, "reading a list", head)
			break
		}
		all = append(all, n-next.Offset)
	}
	return all
}

// The list that an aggregate's children are on: circular, the aggregate's own node is the head.

func (k *Kprobes) listInit(p uint64) {
	k.m.Store(p, k.l.p.listNext, p+k.l.p.listNext.Offset)
	k.m.Store(p, k.l.p.listPrev, p+k.l.p.listNext.Offset)
}

// listInsert puts p between the structures a and b, which are neighbours.
func (k *Kprobes) listInsert(p, a, b uint64) {
	off := k.l.p.listNext.Offset
	if k.opt.Mutant == MutantLinkEarly {
		k.m.Store(a, k.l.p.listNext, p+off)
	}
	k.m.Store(p, k.l.p.listNext, b+off)
	k.m.Store(p, k.l.p.listPrev, a+off)
	k.m.Store(a, k.l.p.listNext, p+off)
	k.m.Store(b, k.l.p.listPrev, p+off)
}

// listAdd puts p in front of the other children.
func (k *Kprobes) listAdd(p, head uint64) {
	k.listInsert(p, head, k.m.Load(head, k.l.p.listNext)-k.l.p.listNext.Offset)
}

// listAddTail puts p behind the other children.
func (k *Kprobes) listAddTail(p, head uint64) {
	k.listInsert(p, k.m.Load(head, k.l.p.listPrev)-k.l.p.listNext.Offset, head)
}

// listDel takes p out; its own next pointer stays for readers on their way.
func (k *Kprobes) listDel(p uint64) {
	off := k.l.p.listNext.Offset
	next, prev := k.m.Load(p, k.l.p.listNext)-off, k.m.Load(p, k.l.p.listPrev)-off
	k.m.Store(prev, k.l.p.listNext, next+off)
	k.m.Store(next, k.l.p.listPrev, prev+off)
	k.m.Store(p, k.l.p.listPrev, poison)
}

// children returns the probes of an aggregate in the order in which they run.
func (k *Kprobes) children(head uint64) []uint64 {
	next := k.l.p.listNext
	return k.chain(head, next, next, head+next.Offset)
}

// Fibonacci hashing of pointers, as in the guest's linux/hash.h.
const (
	hashBits         = 6
	hashMultiplier   = 0x9e37fffffffc0001
	hashMultiplier32 = 0x9e370001
	hashBuckets      = 1 << hashBits
)

// hashOf is the number of a pointer's chain in a hash table of the guest.
func (k *Kprobes) hashOf(pointer uint64) uint64 {
	if k.l.list.Size == 4 {
		return uint64(uint32(pointer) * hashMultiplier32 >> (32 - hashBits))
	}
	return pointer * hashMultiplier >> (64 - hashBits)
}

// bucket is the address of the chain head in a hash table of the guest.
func (k *Kprobes) bucket(table, key uint64) uint64 {
	return table + uint64(k.l.list.Size)*k.hashOf(key)
}
