package smp

import (
	"fmt"

	"kprobesim/image"
)

// OnStacks finds a preempted task that may go on at an address, or that has one among what it has saved: it asks in of
// every word between the stack pointer and the end of its stack. A task that gave up its CPU of its own will is in the
// middle of a call, and what lies on its stack beside return addresses may be left from calls that are over. The idle
// tasks are left out. It is for a machine that stands still, where the tasks that run are the stoppers. It returns the name of such a task, "" for none,
// and how many words it has read. A number on a stack that happens to look like an address is taken for one, as
// nothing tells them apart.
func (k *Kernel) OnStacks(in func(word uint64) bool) (name string, words int64, err error) {
	sp, err := k.savedStackPointer()
	if err != nil {
		return "", 0, err
	}
	word := k.pointer()
	for _, t := range k.order {
		if t.running || t.dead || t.idle || !t.preempted {
			continue
		}
		bottom, at := k.info(t), k.mem.Load(t.addr, sp)
		for ; at-bottom < k.l.threadSize; at += uint64(word.Size) {
			words++
			if in(k.mem.Load(at, word)) {
				return t.name, words, k.mem.Err
			}
		}
	}
	return "", words, k.mem.Err
}

// savedStackPointer is where a task that does not run keeps its stack pointer, from its structure on.
func (k *Kernel) savedStackPointer() (image.Field, error) {
	var thread, sp image.Field
	if _, err := k.im.Layout("task_struct", image.Parts{"thread": &thread}); err != nil {
		return sp, fmt.Errorf("stacks of tasks: %w", err)
	}
	if _, err := k.im.Layout("thread_struct", image.Parts{"sp": &sp}); err != nil {
		return sp, fmt.Errorf("stacks of tasks: %w", err)
	}
	sp.Offset += thread.Offset
	return sp, nil
}
