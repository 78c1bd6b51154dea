package races

import (
	"fmt"

	"kprobesim/kprobes"
)

// watchHandler is the guest's handler that only watchpoint i calls.
func watchHandler(i int) string { return [maxWatches]string{"kwatch_empty", "kwatch_count"}[i] }

// findWatches notes which function touches what is watched, and which handler that calls. The checker treats a
// watchpoint as a probe that stands in no text.
func (t *trial) findWatches() error {
	for i, w := range t.l.s.Watches {
		fn, err := t.l.symbol(w.Target)
		if err != nil {
			return err
		}
		h, err := t.l.symbol(watchHandler(i))
		if err != nil {
			return err
		}
		t.checker.calls.probes = append(t.checker.calls.probes, &probed{name: w.Name, fn: fn.Addr, handler: h.Addr, watch: true})
		t.checker.code.mark(handlerCode, span{h.Addr, h.Addr + 1})
	}
	return nil
}

// setWatch sets the debug registers of all CPUs. Their CPUs take part one after the other, so until the call returns a
// call of the function may have been seen or not.
func (t *trial) setWatch(i int) error {
	w := i - len(t.l.s.Probes)
	x := &t.l.s.Watches[w]
	if t.watches[w] >= 0 {
		return fmt.Errorf("watchpoint %s is set already: %w", x.Name, kprobes.EINVAL)
	}
	spec := kprobes.Watch{Symbol: x.Symbol, Offset: t.l.watched[w], Length: 1, Type: x.Type, Handler: watchHandler(w)}
	if x.Type != kprobes.WatchExecute {
		spec.Length = uint8(t.l.im.Bits / 8)
	}
	t.checker.calls.set(i, maybe)
	nr, err := t.k.AddWatch(t.call, spec)
	if err != nil {
		return err
	}
	t.watches[w] = nr
	t.checker.calls.set(i, on)
	return nil
}

// clearWatch takes them back. When that has returned no handler runs.
func (t *trial) clearWatch(i int) error {
	w := i - len(t.l.s.Probes)
	if t.watches[w] < 0 {
		return fmt.Errorf("watchpoint %s is not set: %w", t.l.s.Watches[w].Name, kprobes.EINVAL)
	}
	t.checker.calls.set(i, maybe)
	if err := t.k.RemoveWatch(t.call, t.watches[w]); err != nil {
		return err
	}
	t.watches[w] = -1
	t.checker.calls.set(i, absent)
	return nil
}
