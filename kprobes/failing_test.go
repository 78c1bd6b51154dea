package kprobes

import (
	"errors"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/smp"
)

// TestMemoryThatFails has the guest's memory fail at the first, the middle and the last access of each operation. The operation says so,
// and leaves nothing of it to the next one.
func TestMemoryThatFails(t *testing.T) {
	type operation func(g *guest, p *Probe) error
	adds := func(s Spec) operation {
		return func(g *guest, _ *Probe) error { return require.Err(g.k.Add(g, s)) }
	}
	user := func(g *guest, s UserSpec) (*UserProbe, error) {
		s.File, s.Symbol, s.Handler = &smp.File{Base: 0x1000, Inode: 3}, "user_mix", "user_probe_pre"
		return g.k.AddUser(g, s)
	}
	for name, do := range map[string]operation{
		"a probe":              adds(Spec{Symbol: "work_frame", Handler: "handler_empty"}),
		"a second one":         adds(Spec{Symbol: "bench_target", Handler: "handler_empty"}),
		"a return probe":       adds(Spec{Kind: Kretprobe, Symbol: "work_read", Handler: "ret_empty", MaxActive: 3}),
		"a jprobe":             adds(Spec{Kind: Jprobe, Symbol: "work_read", Handler: "jprobe_arguments"}),
		"disable":              func(g *guest, p *Probe) error { return g.k.Disable(g, p) },
		"enable":               func(g *guest, p *Probe) error { return g.k.Enable(g, p) },
		"state":                func(g *guest, p *Probe) error { return require.Err(g.k.State(p.Addr)) },
		"list":                 func(g *guest, _ *Probe) error { return require.Err(g.k.List()) },
		"a user probe":         func(g *guest, _ *Probe) error { return require.Err(user(g, UserSpec{})) },
		"a user return probe":  func(g *guest, _ *Probe) error { return require.Err(user(g, UserSpec{Return: true})) },
		"watch for user pages": func(g *guest, _ *Probe) error { return g.k.Watch(&UserProbe{Addr: 5}) },
	} {
		attempt := func(at int) (int, error) {
			image := "x86_64-2010"
			if strings.Contains(name, "user") {
				image = "i386-2005-userprobes"
			}
			g := newGuest(t, image, Default())
			p := g.add(Spec{Symbol: "bench_target", Handler: "handler_empty"})
			g.left = at
			err := do(g, p)
			n := at - g.left
			g.left = 0
			require.NoError(t, g.k.m.take())
			return n, errors.Join(err, g.smp.Err()) // what the scheduler could not read ends the machine
		}
		n, err := attempt(1 << 30)
		require.NoError(t, err)
		for _, at := range []int{1, n / 2, n} {
			_, err := attempt(at)
			require.Error(t, err, "fails", "%s, at access %d of %d", name, at, n)
		}
	}
}
