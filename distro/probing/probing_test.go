package probing

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kprobesim/image"
	"kprobesim/image/linux"
	"kprobesim/image/linux/linuxtest"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

// function is one of the made-up kernel, by its offset in the text.
type function struct {
	name string
	at   int
	code string
}

// functions names the functions of the made-up kernel. A trap fills what is between them.
var functions = [...]function{
	{"_stext", 0, ""},
	{"plain", 0x00, "\x55\x48\x89\xe5\xb8\x01\x00\x00\x00\x5d\xc3"},
	{"traced", 0x20, "\xe8\x00\x00\x00\x00\x55\x48\x89\xe5\x5d\xc3\x90\x90"},
	{"__noinstr_text_start", 0x40, ""},
	{"noinstr", 0x40, "\x55\x5d\xc3"},
	{"__noinstr_text_end", 0x50, ""},
	{"black", 0x60, "\x55\x5d\xc3"},
	{"black.cold", 0x70, "\x55\x5d\xc3"},
	{"traced.cold", 0x78, "\x48\x89\xe5\x90\x90\xc3"},
	{"label", 0x80, "\x55\x48\x89\xe5\x0f\x1f\x44\x00\x00\x5d\xc3"},
	{"static", 0xa0, "\x48\x89\xe5\xe8\x00\x00\x00\x00\xc3"},
	{"bug", 0xc0, "\x55\x48\x89\xe5\x90\x90\x0f\x0b"},
	{"memory", 0xe0, "\xff\x15\x00\x00\x00\x00\xc3"},
	{"retpoline", 0x100, "\x48\x8b\x05\x00\x00\x00\x00\xe9\x24\x01\x00\x00"},
	{"faults", 0x160, "\x48\x89\xf8\x48\x8b\x00\x48\x89\xc7\xc3"},
	{"loops", 0x180, "\x48\x89\xf8\x48\xff\xc8\x75\xfb\xc3"},
	{"returns", 0x1a0, "\xc3\xcc\xcc\xcc\xcc\x48\x89\xf8\x48\x89\xc7\xc3"},
	{"vector", 0x1c0, "\x48\x89\xf8\xc5\xf9\x6f\x06\x48\x89\xc7\x90\x90\x90\x90\xc3"},
	{"vzero", 0x1e0, "\xc5\xf8\x77\x89\xf8\x48\x89\xc7\x48\x89\xf8\xc5\xfc\x77"},
	{"marked", 0x200, "\xf3\x0f\x1e\xfa\xe8\x00\x00\x00\x00\xc3"},
	{"shifts", 0x220, "\x48\xc1\xe0\x02\x89\xc2\xc3"},
	{"preempt_schedule", 0x228, "\xc3"},
	{"__indirect_thunk_start", 0x230, ""},
	{"__x86_indirect_thunk_rax", 0x230, "\xff\xe0"},
	{"returned", 0x240, "\x48\x89\xf8\x48\x89\xc7\xe9\x15\x00\x00\x00"},
	{"__x86_return_thunk", 0x260, "\xc3"},
	{"__indirect_thunk_end", 0x261, ""},
	{"_etext", 0x270, ""},
	{"start_of_init", 0x280, "\x55\x5d\xc3"},
	{"end", 0x400, ""},
}

// madeUp is a kernel with a table of each kind. What the entries stand for is an offset in the text.
func madeUp(t *testing.T) *Kernel {
	t.Helper()
	return release(t, "6.1.0-56-amd64", "")
}

// release is the made-up kernel as of a release, without a function and with others.
func release(t *testing.T, release, without string, with ...function) *Kernel {
	t.Helper()
	code := bytes.Repeat([]byte{0xcc}, 0x800)
	for _, f := range functions {
		copy(code[f.at:], f.code)
	}
	from := &linux.Kernel{Setup: linux.Setup{Release: release}}
	table := func(name string, size int, places ...int) {
		from.Tables = append(from.Tables, linux.Table{
			Name: name, Addr: linuxtest.Text + uint64(len(code)), Size: uint64(size * len(places)), Entry: uint64(size),
		})
		for _, at := range places {
			e := make([]byte, size)
			switch from := linuxtest.Text + uint64(len(code)); name {
			case "ftrace sites", "blacklist of probes":
				binary.LittleEndian.PutUint64(e, linuxtest.Text+uint64(at))
			default:
				binary.LittleEndian.PutUint32(e, uint32(linuxtest.Text+uint64(at)-from))
			}
			code = append(code, e...)
		}
	}
	table("exceptions", 12, 0x163)
	table("jump labels", 16, 0x2f0, 0x84) // in no order, as a linker leaves them
	table("static calls", 8, 0x2e0, 0xa3)
	table("BUG places", 12, 0xc6)
	table("ftrace sites", 8, 0x204, 0x20)
	table("blacklist of probes", 8, 0x60)
	im, err := image.LoadBare("made-up", linuxtest.Kernel{Bits: 64, Code: code}.ELF(), func(*image.Image) ([]image.Symbol, error) {
		var out []image.Symbol
		for _, f := range slices.Concat(functions[:], with) {
			if f.name == without {
				continue
			}
			out = append(out, image.NewSymbol(f.name, linuxtest.Text+uint64(f.at), 0, f.code != "", true, ".text"))
		}
		return out, nil
	})
	require.NoError(t, err)
	from.Image = im
	return require.Must(Read(from, func(va uint64, n int) []byte { return im.Bytes(va, uint64(n)) }))(t)
}

// TestKernelWithoutTables is refused: its rules could not be applied.
func TestKernelWithoutTables(t *testing.T) {
	k := madeUp(t)
	require.Error(t, require.Err(Read(&linux.Kernel{Image: k.image}, nil)), "neither by symbols nor by its shape", "a kernel without tables")
}

// TestBugPlaces reads the table of BUG places, which has addresses in kernels of 32 bits and else distances.
func TestBugPlaces(t *testing.T) {
	for _, bits := range []int{32, 64} {
		base := uint64(linuxtest.Text)
		if bits == 32 {
			base &= 1<<32 - 1
		}
		code := make([]byte, 0x100)
		first := uint32(base + 6)
		if bits == 64 {
			first -= uint32(base + 0x80)
		}
		binary.LittleEndian.PutUint32(code[0x80:], first)
		im, err := image.LoadBare("made-up", linuxtest.Kernel{Bits: bits, Code: code}.ELF(), func(*image.Image) ([]image.Symbol, error) {
			return nil, nil
		})
		require.NoError(t, err)
		k := &Kernel{image: im, arch: archOf(im), bugs: map[uint64]bool{}}
		from := &linux.Kernel{Image: im, Tables: []linux.Table{{Name: bugPlaces, Addr: base + 0x80, Size: 12, Entry: 12}}}
		if err := k.readTables(from); err != nil || len(k.bugs) != 1 || !k.bugs[base+6] {
			t.Errorf("%d bits: %v, %v; want %#x", bits, k.bugs, err, base+6)
		}
	}
}

// TestRules asks for each rule at a place where no other holds.
func TestRules(t *testing.T) {
	k := madeUp(t)
	for _, x := range []struct {
		place string
		rule  Rule // no probe
		errno kprobes.Errno
		kind  string
		kept  kprobes.Rule // no jump; "" for one
		event bool
	}{
		{place: "plain", kind: "stepped"},
		{place: "plain+1", kind: "stepped"},
		{place: "plain+2", rule: ruleBoundary, errno: kprobes.EILSEQ},
		{place: "plain+9", kind: "stepped", kept: kprobes.RuleNotBoostable},
		{place: "plain+10", kind: "emulated", kept: kprobes.RuleNotBoostable},
		{place: "plain+11", rule: ruleNotCopied, errno: kprobes.EINVAL},
		{place: "traced", kind: "ftrace", kept: kprobes.RuleFtrace, event: true},
		{place: "traced+2", rule: ruleBoundary, errno: kprobes.EILSEQ},
		{place: "traced+5", kind: "stepped", event: true},
		{place: "traced.cold", kind: "stepped", event: true},
		{place: "noinstr", rule: ruleNoinstr, errno: kprobes.EINVAL},
		{place: "black+1", rule: ruleBlacklist, errno: kprobes.EINVAL},
		{place: "black.cold", rule: ruleBlacklist, errno: kprobes.EINVAL},
		{place: "label+4", rule: ruleJumpLabel, errno: kprobes.EINVAL},
		{place: "label+6", rule: ruleJumpLabel, errno: kprobes.EINVAL},
		{place: "label+1", kind: "stepped", kept: ruleReserved},
		{place: "static+3", rule: ruleStaticCall, errno: kprobes.EINVAL},
		{place: "bug+6", rule: ruleBug, errno: kprobes.EINVAL},
		{place: "bug", kind: "stepped"},
		{place: "memory", rule: ruleNotCopied, errno: kprobes.EOPNOTSUPP},
		{place: "retpoline", kind: "stepped", kept: kprobes.RuleIndirectJump},
		{place: "faults", kind: "stepped", kept: kprobes.RuleExceptionTable},
		{place: "loops", kind: "stepped", kept: kprobes.RuleJumpIntoRegion},
		{place: "returns+5", kind: "stepped"},
		{place: "vector+7", kind: "stepped"},
		{place: "vector", kind: "stepped", kept: kprobes.RuleNotBoostable},
		{place: "vzero", kind: "stepped", kept: kprobes.RuleNotBoostable},
		{place: "vzero+3", kind: "stepped"},
		{place: "vzero+11", kind: "stepped", kept: kprobes.RuleNotBoostable},
		{place: "marked", kind: "ftrace", kept: kprobes.RuleFtrace, event: true},
		{place: "marked+4", kind: "ftrace", kept: kprobes.RuleFtrace, event: true},
		{place: "shifts", kind: "stepped", kept: kprobes.RuleNotBoostable},
		{place: "returned", kind: "stepped", kept: kprobes.RuleIndirectJump},
		{place: "start_of_init", rule: ruleText, errno: kprobes.EINVAL},
		{place: "0x1000", rule: ruleText, errno: kprobes.EINVAL},
	} {
		at := require.Must(k.Resolve(x.place))(t)
		v := k.At(at)
		if v.Rule != x.rule || v.Errno != int(x.errno) || v.Probe != (x.rule == "") || v.Kind != x.kind || v.Kept != x.kept ||
			v.Optimized != (x.kind != "" && x.kept == "") || v.Event != x.event {
			t.Errorf("%s: %+v, want %+v", x.place, v, x)
		}
	}
}

// TestRulesByVersion asks kernels of several versions where their rules differ.
func TestRulesByVersion(t *testing.T) {
	for _, x := range []struct {
		release, without, place string
		errno                   kprobes.Errno
		kept                    kprobes.Rule
	}{
		{"6.8.0", "", "shifts", 0, kprobes.RuleNotBoostable},
		{"6.9.0", "", "shifts", 0, ""},
		{"6.8.0", "", "plain+11", kprobes.EINVAL, ""},
		{"6.9.0", "", "plain+11", kprobes.EILSEQ, ""},
		{"6.12.0", "", "retpoline", 0, kprobes.RuleIndirectJump},
		{"6.12.0", "__indirect_thunk_start", "retpoline", 0, ""},
		{"6.12.0", "__indirect_thunk_start", "faults", 0, kprobes.RuleExceptionTable},
		{"6.1.0", "__indirect_thunk_end", "returned", 0, ""},
	} {
		k := release(t, x.release, x.without)
		v := k.At(require.Must(k.Resolve(x.place))(t))
		require.That(t, v.Errno == int(x.errno) && v.Kept == x.kept && (!v.Probe || v.Optimized == (x.kept == "")), "%+v: %+v", x, v)
	}
	for version, known := range map[string]bool{"5.9.1": false, "5.10.0-46-amd64": true, "5.11.0": false, "5.17.0": false, "5.18.0-rc1": true, "6.12.117+deb12-amd64": true, "7.2.13+deb14-amd64": true, "7.3.0": false, "": false} {
		if k := release(t, version, ""); (k.Doubt() == "") != known {
			t.Errorf("%q: %q", version, k.Doubt())
		}
	}
}

// TestKernelWithoutPreemption boosts what may run elsewhere unaided, with one exception a hit, and says so where a step is asked for. What a debug
// exception steps is not known.
func TestKernelWithoutPreemption(t *testing.T) {
	k := release(t, "5.10.0-46-amd64", "preempt_schedule")
	for place, want := range map[string]string{
		"traced+5": "boosted 1", "plain+4": "boosted 1", "plain+10": "emulated 1", "vector+3": "stepped 2", "traced": "ftrace 0",
	} {
		v := k.At(require.Must(k.Resolve(place))(t))
		require.Equal(t, fmt.Sprint(v.Kind, " ", v.Exceptions), want, "%s", place)
	}
	v, err := k.Choose("plain", kprobes.Boosted)
	require.That(t, err == nil && v.Addr == linuxtest.Text, "boosted at %s, %v", v.Place, err)
	require.Error(t, require.Err(k.Choose("plain", kprobes.Stepped)), `because this kernel boosts probes: ask for mode "boosted"`, "a step")
	require.That(t, strings.Contains(release(t, "5.10.0", "", function{trapHandler, 0x229, "\xc3"}).Doubt(), "5.10 and from 5.18 to 7.2"), "steps by traps are known")
}

// TestPlaces holds what is no place.
func TestPlaces(t *testing.T) {
	k := madeUp(t)
	for place, want := range map[string]string{
		"nothing": "no symbol nothing", "plain+x": "write the offset", "0xg": "write an address", "plain+99999999999": "write the offset",
		"plain+0x20": "plain is 0x20 bytes long",
	} {
		require.Error(t, require.Err(k.Resolve(place)), want, "%s", place)
	}
}

// TestRandom draws places that lie in functions of the text, the same ones for the same numbers.
func TestRandom(t *testing.T) {
	k := madeUp(t)
	a, b := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	for range 400 {
		at := k.Random(a.Uint64)
		require.Need(t, at == k.Random(b.Uint64) && k.core.Contains(at), "%#x is not drawn again, or lies outside of the text", at)
		name, _, _ := strings.Cut(k.At(at).Place, "+")
		seen[name] = true
	}
	require.That(t, len(seen) >= 10, "only %d functions are drawn from", len(seen))
}

// TestTogether has a probe in the region of another one, which keeps its breakpoint unless it is the only one.
func TestTogether(t *testing.T) {
	k := madeUp(t)
	at := require.Must(k.Resolve("traced+5"))(t)
	first, second, far := k.At(at), k.At(at+1), k.At(at-5)
	require.Need(t, first.Optimized && second.Probe, "%+v, %+v", first, second)
	if got := Together([]Verdict{first, far}); !got[0].Optimized {
		t.Errorf("a probe in front of the region: %+v", got[0])
	}
	if got := Together([]Verdict{first, second}); got[0].Optimized || got[0].Kept != kprobes.RuleProbeInRegion || !strings.Contains(got[0].KeptWhy, "traced+0x6") {
		t.Errorf("a probe in the region: %+v", got[0])
	}
}

// TestAnswers reads a kernel's answers and compares them with verdicts.
func TestAnswers(t *testing.T) {
	sites := []uint64{0xffffffff81000000, 0xffffffff81000020, 0xffffffff81000040, 0xffffffff81000060}
	console := "[    0.1] noise\r\nask: place 0xffffffff81000000 0\r\nask: place 0xffffffff81000020 0\r\n" +
		"ask: place 0xffffffff81000040 2[    1.117415] clocksource: tsc\r\n2\r\nask: place 0xffffffff81000060 0\r\n" +
		"ask: list ffffffff81000000  k  plain+0x0    [OPTIMIZED]\r\nask: list ffffffff81000020  k  traced+0x0    [FTRACE]\r\n" +
		"ask: list ffffffff81000060  k  black+0x0    \r\nask: list nonsense\r\nask: done\r\n"
	got := require.Must(Answers(console, sites))(t)
	for i, v := range []Verdict{
		{Probe: true, Event: true, Optimized: true, Kind: "stepped"},
		{Probe: true, Event: true, Kind: "ftrace"},
		{Errno: 22},
		{Probe: true, Event: true, Kind: "emulated"},
	} {
		if !got[i].Agrees(v) {
			t.Errorf("%#x: %v does not agree with %+v", sites[i], got[i], v)
		}
		v.Optimized, v.Probe = !v.Optimized, true
		v.Event = true
		if got[i].Agrees(v) {
			t.Errorf("%#x: %v agrees with %+v", sites[i], got[i], v)
		}
	}
	for errno, traced := range map[int]bool{22: false, 95: true} { // the error of a place where no event can be
		refused := Verdict{Errno: 95, traced: traced}
		other := (Answer{Errno: 117 - errno})
		require.That(t, (Answer{Errno: errno}).Agrees(refused) && other.Agrees(refused) != traced, "error %d or %v for %+v", errno, other, refused)
	}
	for _, cut := range []string{"ask: done", "ask: place 0xffffffff81000020 0"} {
		_, err := Answers(strings.Replace(console, cut, "", 1), sites)
		require.That(t, err != nil, "a console without %q is taken for complete", cut)
	}
	require.Error(t, require.Err(Answers("ask: failed to mount tracefs: error 19\r\n"+console, sites)), "to mount tracefs: error 19", "a program that failed")
	if string(Orders(sites[:2])) != "0xffffffff81000000\n0xffffffff81000020\n" {
		t.Errorf("orders %q", Orders(sites[:2]))
	}
}

// TestEvery judges each instruction of each function once, as one by one.
func TestEvery(t *testing.T) {
	k := madeUp(t)
	starts := map[uint64]bool{}
	for _, at := range k.functions {
		fn, _, _ := k.function(at)
		for _, at := range k.Starts(at) {
			if rest := fn.Code[at-fn.Start:]; !bytes.Equal(rest, bytes.Repeat([]byte{0xcc}, len(rest))) {
				starts[at] = true
			}
		}
	}
	last, kinds := uint64(0), map[string]bool{}
	if err := k.Every(func(v Verdict) error {
		if want := k.At(v.Addr); v != want || v.Addr <= last || !starts[v.Addr] {
			t.Errorf("%+v behind %#x, alone it is %+v", v, last, want)
		}
		last = v.Addr
		delete(starts, last)
		kinds[v.Kind+string(v.Rule)+string(v.Kept)] = true
		return nil
	}); err != nil || len(starts) > 0 || len(kinds) < 12 {
		t.Errorf("%v; left out: %v; kinds: %v", err, starts, kinds)
	}
	enough := errors.New("enough")
	if err := k.Every(func(Verdict) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("not ended by %v: %v", enough, err)
	}
}

// TestAnswersInWords holds what is said of an answer, and which answers agree with which verdicts.
func TestAnswersInWords(t *testing.T) {
	refused, flat := Answer{Errno: 84}, Answer{}
	ftrace, jump := Answer{Ftrace: true}, Answer{Optimized: true}
	for a, want := range map[Answer]string{
		refused: "error 84", ftrace: "a probe that rests on ftrace", jump: "a probe that it replaced by a jump", flat: "a probe by a breakpoint",
	} {
		require.Equal(t, a.String(), want, "%+v", a)
	}
	invalid := Answer{Errno: 22}
	for _, x := range []struct {
		of   Verdict
		want []Answer
	}{
		{Verdict{Errno: 84, traced: true}, []Answer{refused}},
		{Verdict{Errno: 84}, []Answer{refused, invalid}},
		{Verdict{Probe: true}, []Answer{invalid}},
		{Verdict{Probe: true, Event: true, Kind: "ftrace"}, []Answer{ftrace}},
		{Verdict{Probe: true, Event: true, Kind: "stepped", Optimized: true}, []Answer{jump}},
		{Verdict{Probe: true, Event: true, Kind: "stepped"}, []Answer{flat}},
	} {
		for _, a := range []Answer{refused, flat, ftrace, jump, invalid} {
			require.That(t, a.Agrees(x.of) == slices.Contains(x.want, a), "%+v of %+v: %v", a, x.of, a.Agrees(x.of))
		}
	}
}

// TestAll has the places of Every, and the bytes of each to the end of its function.
func TestAll(t *testing.T) {
	k := madeUp(t)
	var want []uint64
	require.NoError(t, k.Every(func(v Verdict) error { want = append(want, v.Addr); return nil }))
	require.That(t, len(want) > 10 && slices.Equal(k.All(), want), "%d places, and %d verdicts", len(k.All()), len(want))
	for _, at := range want {
		fn, off, ok := k.function(at)
		n := len(k.Code(at))
		require.That(t, ok && n == min(15, len(fn.Code)-int(off)) && k.Code(at)[0] == fn.Code[off], "%#x has %d bytes", at, n)
	}
	require.That(t, k.Code(1) == nil, "bytes outside of every function: %x", k.Code(1))
}

// TestChanged compares the search for sites in a range with a look at each of them.
func TestChanged(t *testing.T) {
	k := madeUp(t)
	r := rand.New(rand.NewPCG(8, 8))
	for range 2000 {
		var sites []uint64
		for range 1 + r.IntN(4) {
			sites = append(sites, linuxtest.Text+r.Uint64N(0x280))
		}
		slices.Sort(sites)
		from := linuxtest.Text + r.Uint64N(0x280)
		to := from + 1 + r.Uint64N(12)
		want := slices.ContainsFunc(sites, func(at uint64) bool { return at < to && at+k.arch.site(k.text(at, 2)) > from })
		require.Equal(t, k.changed(sites, from, to), want, "whether %#x has a site from %#x to %#x", sites, from, to)
	}
	near := []uint64{2}
	require.That(t, k.changed(near, 2, 3), "a site at the beginning of all")
}

// TestReserved keeps breakpoints where what a jump would replace has a call of ftrace, a jump label or a static call anywhere behind its
// first byte, and nowhere else.
func TestReserved(t *testing.T) {
	k := madeUp(t)
	at := require.Must(k.Resolve("plain"))(t)
	end := k.At(at).end
	require.That(t, end >= at+5 && end < at+12, "the region of %#x ends at %#x", at, end)
	for place := at + 1; place < at+16; place++ {
		for name, set := range map[string]func(k *Kernel){
			"call of ftrace": func(k *Kernel) { k.ftrace[place] = true }, "jump label": func(k *Kernel) { k.jumps = []uint64{place} }, "static call": func(k *Kernel) { k.calls = []uint64{place} },
		} {
			k := madeUp(t)
			k.jumps, k.calls = nil, nil
			set(k)
			v := k.At(at)
			require.That(t, v.Optimized == (place >= end) && v.Optimized == (v.Kept != ruleReserved), "a %s at +%d of a region of %d: %+v", name, place-at, end-at, v)
		}
	}
}
