package smp

import (
	"fmt"
	"strings"
)

// Explain says of every task where it runs or what it waits for, for the report of a machine in
// which nothing happens any more.
func (k *Kernel) Explain() string {
	var out strings.Builder
	for _, t := range k.order {
		if !t.idle && !t.dead && (t.prio != stopperPriority || t.waits == nil) {
			fmt.Fprintf(&out, "task %s: %s\n", t.name, k.doing(t))
		}
	}
	return out.String()
}

// doing prefers what the task said when it began to wait, because its state in the guest only says
// that it sleeps.
func (k *Kernel) doing(t *task) string {
	switch {
	case t.running:
		return fmt.Sprintf("runs on cpu %d", t.last)
	case t.queued:
		return fmt.Sprintf("could run on cpu %d", t.last)
	case t.waits != nil:
		return "waits for " + t.waits()
	}
	return "sleeps"
}
