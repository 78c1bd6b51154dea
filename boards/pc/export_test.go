package pc

import "kprobesim/sim"

// Flying counts the interprocessor interrupts that are on their way.
func Flying(h sim.Hardware) int { return len(h.(*bus).sent) }
