package kprobes

import "testing"

// A probe without handlers changes nothing, in any mode.
func TestProbeWithoutHandlers(t *testing.T) {
	eachMode(t, modes(), func(l *live, m hitMode) {
		want := l.call("bench_target", 3, 4)
		p := l.add(Spec{Symbol: "bench_target"})
		for i := range 4 {
			if i == 2 { // beside another one it is called by what goes through the probes of an address
				l.add(Spec{Kind: Kretprobe, Symbol: "bench_target"})
			}
			if got := l.call("bench_target", 3, 4); got != want {
				t.Errorf("%s: %#x with probes that have no handlers, want %#x", m.name(), got, want)
			}
		}
		if st := l.state(p); st.NMissed != 0 {
			t.Errorf("%s: missed %d hits", m.name(), st.NMissed)
		}
	})
}

// A return probe is disabled and enabled like any, and counts what it misses from zero after each registration.
func TestReturnProbesAreSwitched(t *testing.T) {
	eachMode(t, modes(), func(l *live, m hitMode) {
		if !l.k.era.disabled {
			return
		}
		p := l.add(Spec{Kind: Kretprobe, Symbol: "work_recursive", Handler: "ret_count", MaxActive: 1})
		calls := func(want uint64) {
			t.Helper()
			hits := l.percpu("handler_hits")
			l.call("work_recursive", 1, 1)
			if n := l.percpu("handler_hits") - hits; n != want {
				t.Errorf("%s: %d returns seen, want %d", m.name(), n, want)
			}
		}
		calls(1)
		for _, enable := range []string{"disable_kretprobe", "enable_kretprobe"} {
			if got := l.status(enable, p.Addr); got != 0 {
				t.Errorf("%s: %s: %d", m.name(), enable, got)
			}
			calls(map[string]uint64{"enable_kretprobe": 1}[enable])
		}
		if st := l.state(p); st.Unseen != 2 {
			t.Errorf("%s: two calls of two had no instance, %d are counted", m.name(), st.Unseen)
		}
		l.call("unregister_kretprobe", p.Addr)
		if got := l.status("enable_kretprobe", p.Addr); got != -int32(EINVAL) {
			t.Errorf("%s: enabling what is not registered: %d", m.name(), got)
		}
		l.store(p.Addr+l.k.l.r.kp.Offset, l.k.l.p.addr, 0) // it has its symbol
		if got := l.status("register_kretprobe", p.Addr); got != 0 {
			t.Fatalf("%s: registered again: %d", m.name(), got)
		}
		if got := l.k.m.Load(p.Addr, l.k.l.r.nmissed); got != 0 {
			t.Errorf("%s: nmissed is %d after registration", m.name(), got)
		}
		l.call("unregister_kretprobe", p.Addr)
	})
}
