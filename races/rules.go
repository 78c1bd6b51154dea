package races

// broken says which rule a violation breaks, and what it rests on: a manual or a document, in our words. fetching is the rule
// of the instruction set for code that another processor has modified (kprobes.Arch.Fetching).
func broken(k Kind, fetching string) string {
	const document = "Documentation/kprobes.txt, "
	switch k {
	case Torn, Unsynced:
		return fetching
	case Inside:
		return document + "1.4.5: no CPU is in the middle of the bytes that a jump replaces, and 1.4.2: none jumps there"
	case Stale:
		return document + "4.4: when unregistering has returned, the probe, its handlers and its copies are its user's to free"
	case Lost:
		return document + "1.1: a hit of a registered probe that is enabled calls its handler"
	case Doubled:
		return document + "1.1 and 4.7: a hit calls the handler once, and not while the probe is disabled"
	case Result:
		return document + "1.1: behind the handlers the probed instruction is executed as if no probe were there"
	case Leaked:
		return document + "4.4: unregistering gives back what registering took"
	case Missed:
		return document + "5: a hit in a handler is counted in nmissed"
	case Late:
		return "the scheduler's own promise: a wake-up reaches its CPU before the next tick does"
	}
	return "a kernel goes on, whatever its probes do"
}
