package kinds

import (
	"strings"
	"testing"

	"kprobesim/distro/measuring"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

// TestSiteVerify holds made-up measurements against points: what a kernel says and did otherwise is an error.
func TestSiteVerify(t *testing.T) {
	const at = 0x1000
	listed := func(kind string, change func(*measuring.Listed)) measuring.Region {
		l := measuring.Listed{Addr: at, Kind: kind}
		change(&l)
		return measuring.Region{List: []measuring.Listed{l}, Hits: 15, Breakpoints: 10}
	}
	as := func(*measuring.Listed) {}
	kernel, user := site{place: "f", addr: at, breakpoints: 1}, site{place: "/init:f", addr: at, user: true, breakpoints: 1, debug: 1}
	called := site{place: "/init:f", instruction: "nop", addr: at, user: true, called: true}
	hit := measuring.Region{Hits: 15, Breakpoints: 10, Debug: 10, Planted: []uint64{at}}
	without := func(change func(*measuring.Region)) measuring.Region {
		r := hit
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		site   site
		what   string
		mode   kprobes.Mode
		region measuring.Region
		want   string // of the error; "" for none
	}{
		"kernel":        {kernel, schema.LinuxKprobe, kprobes.Emulated, listed("k", as), ""},
		"return":        {kernel, schema.LinuxKretprobe, kprobes.Emulated, listed("r", as), ""},
		"not listed":    {kernel, schema.LinuxKretprobe, kprobes.Emulated, measuring.Region{}, "has no probe at f"},
		"another kind":  {kernel, schema.LinuxKretprobe, kprobes.Emulated, listed("k", as), `as "k", not "r"`},
		"mark":          {kernel, schema.LinuxKprobe, kprobes.Emulated, listed("k", func(l *measuring.Listed) { l.Optimized = true }), "is optimized, not emulated"},
		"no mark":       {kernel, schema.LinuxKprobe, kprobes.Ftrace, listed("k", as), "is a breakpoint, not ftrace"},
		"disabled":      {kernel, schema.LinuxKprobe, kprobes.Emulated, listed("k", func(l *measuring.Listed) { l.Disabled = true }), "the kernel says"},
		"user":          {user, schema.LinuxUprobe, kprobes.Stepped, hit, ""},
		"no breakpoint": {user, schema.LinuxUprobe, kprobes.Stepped, without(func(r *measuring.Region) { r.Planted = nil }), "has breakpoints at [] and calls at []"},
		"elsewhere":     {user, schema.LinuxUprobe, kprobes.Stepped, without(func(r *measuring.Region) { r.Planted = []uint64{at + 1} }), "at [0x1001] and calls at [], where [0x1000]"},
		"further":       {user, schema.LinuxUprobe, kprobes.Stepped, without(func(r *measuring.Region) { r.Planted = []uint64{at, at + 1} }), "at [0x1000 0x1001]"},
		"call":          {called, schema.LinuxUprobe, kprobes.Optimized, measuring.Region{Hits: 15, Called: []uint64{at}}, ""},
		"no call":       {called, schema.LinuxUprobe, kprobes.Optimized, hit, "the kernel keeps a breakpoint at /init:f (nop): it puts a call in place of a nop of 10 bytes"},
		"both":          {called, schema.LinuxUprobe, kprobes.Optimized, measuring.Region{Hits: 15, Called: []uint64{at}, Planted: []uint64{at}}, "where [] are wanted"},
		"a call there":  {user, schema.LinuxUprobe, kprobes.Stepped, without(func(r *measuring.Region) { r.Called = []uint64{at} }), "and calls at [0x1000]"},
		"trapped":       {called, schema.LinuxUprobe, kprobes.Optimized, measuring.Region{Hits: 15, Breakpoints: 1, Called: []uint64{at}}, "1 breakpoints and 0 debug exceptions more"},
		"in the kernel": {kernel, schema.LinuxKprobe, kprobes.Emulated, measuring.Region{List: listed("k", as).List, Planted: []uint64{at}}, "where [] are wanted"},
		"not stepped":   {user, schema.LinuxUprobe, kprobes.Stepped, without(func(r *measuring.Region) { r.Debug = 0 }), "10 breakpoints and 0 debug exceptions"},
		"one too few":   {user, schema.LinuxUprobe, kprobes.Stepped, without(func(r *measuring.Region) { r.Breakpoints = 9 }), "9 breakpoints and 10 debug exceptions"},
		"one too many":  {user, schema.LinuxUprobe, kprobes.Stepped, without(func(r *measuring.Region) { r.Debug = 11 }), "10 breakpoints and 11 debug exceptions"},
		"watchpoint":    {site{place: "/init:w", debug: 1}, schema.LinuxWatch, kprobes.Stepped, measuring.Region{Hits: 15, Debug: 10}, ""},
		"not watched":   {site{place: "/init:w", debug: 1}, schema.LinuxWatch, kprobes.Stepped, measuring.Region{Hits: 15}, "one that is watchpoint takes 0 and 1"},
	} {
		p := &schema.Point{Workload: schema.Workload{Hits: 10, Warmup: 5}}
		p.Probe = schema.Probe{Mode: c.mode, Linux: &schema.LinuxProbe{What: c.what}}
		err := c.site.verify(p, &stretch{Region: &measuring.Region{}}, &stretch{Region: &c.region}, Counts{Calls: 5, Hits: 10})
		got := errorText(err)
		require.That(t, (c.want == "") == (got == "") && strings.Contains(got, c.want), "%s: %q, want %q", name, got, c.want)
	}
	var none *site
	if err := none.verify(&schema.Point{}, nil, nil, Counts{}); err != nil {
		t.Errorf("without a probe: %v", err)
	}
}

// TestListed counts hits by the kernel's list, once an address, and hits of return probes apart.
func TestListed(t *testing.T) {
	s := &stretch{Region: &measuring.Region{Planted: []uint64{5}, List: []measuring.Listed{
		{Addr: 1, Kind: "k"}, {Addr: 2, Kind: "r"}, {Addr: 2, Kind: "k"}, {Addr: 3, Kind: "r"}, {Addr: 4, Kind: "r", Disabled: true},
	}}}
	if hits, entered := s.listed(arrivals{1: 1, 2: 10, 3: 100, 4: 1000, 5: 10000, 6: 100000}); hits != 10111 || entered != 110 {
		t.Errorf("%d hits, %d of return probes", hits, entered)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
