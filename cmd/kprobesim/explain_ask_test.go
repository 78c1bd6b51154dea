package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"kprobesim/distro"
	"kprobesim/distro/costing"
	"kprobesim/distro/probing"
	"kprobesim/internal/require"
)

// questioned is a made-up kernel with places. It refuses every fifth place, otherwise than the rules.
type questioned struct {
	mu    sync.Mutex
	boots [][]uint64 // the places of each
	fails uint64     // the place of which it dies; 0 for none
	said  []string
}

// inquiry asks for the places from 1 on.
func (k *questioned) inquiry(places, rounds int, kept *journal) *inquiry {
	q := &inquiry{
		boot: k.boot, rounds: rounds, kept: kept, replies: make([]reply, places),
		judge: func(at uint64) probing.Verdict {
			return probing.Verdict{Addr: at, Probe: true, Event: true, Kind: "stepped"}
		},
		say: func(format string, more ...any) { k.said = append(k.said, fmt.Sprintf(format, more...)) },
	}
	for i := range places {
		q.sites = append(q.sites, uint64(i+1))
	}
	return q
}

func (k *questioned) boot(sites []uint64) ([]probing.Answer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.boots = append(k.boots, sites)
	if slices.Contains(sites, k.fails) {
		return nil, errors.New("the kernel panicked")
	}
	out := make([]probing.Answer, len(sites))
	for i, at := range sites {
		if at%5 == 0 {
			out[i].Errno = 22
		}
	}
	return out, nil
}

// TestInquiryRounds asks for each place once, spread over the rounds, with any number of workers.
func TestInquiryRounds(t *testing.T) {
	for _, workers := range []int{1, 3} {
		k := &questioned{}
		q := k.inquiry(23, 4, nil)
		require.NoError(t, q.run(0, workers))
		all := slices.Concat(k.boots...)
		slices.Sort(all)
		require.That(t, len(k.boots) == 4 && slices.Equal(all, q.sites), "%d workers asked for %v", workers, k.boots)
		for _, b := range k.boots {
			for i := range b[1:] {
				require.That(t, b[i+1] == b[i]+4, "the places %v are not spread evenly", b)
			}
		}
		for i, r := range q.replies {
			refused := (i+1)%5 == 0
			require.That(t, r.asked && r.agrees != refused && (r.Errno == 22) == refused, "place %d: %+v", i+1, r)
		}
		require.That(t, q.asked == 23 && q.differ == 4 && strings.Contains(k.said[len(k.said)-1], "for 23 of 23 places, and for 4 otherwise"), "%d asked, %d differ, said %q", q.asked, q.differ, k.said)
	}
}

// TestInquiryGoesOn interrupts an inquiry three times: by a number of rounds, by a kernel that dies, and while a line is
// written. What was answered is not asked for again, and all answers together equal the answers of an inquiry in one go.
func TestInquiryGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "answers")
	kept := func() *journal { return &journal{file: file, Key: "this kernel", Rounds: 4} }
	k := &questioned{}
	if err := k.inquiry(23, 4, kept()).run(1, 1); err != nil || len(k.boots) != 1 {
		t.Fatal(err, k.boots)
	}
	k.fails = 3
	require.Error(t, k.inquiry(23, 4, kept()).run(0, 1), "round 3 of 4: the kernel panicked", "a kernel that fails")
	whole := require.Must(os.ReadFile(file))(t)
	require.NoError(t, os.WriteFile(file, whole[:len(whole)-3], 0o600))
	k.fails, k.boots = 0, nil
	q := k.inquiry(23, 4, kept())
	require.NoError(t, q.run(0, 1))
	require.That(t, len(k.boots) == 3 && k.boots[0][0] == 2, "behind an answer of round 1 it asked for %v", k.boots)
	once := (&questioned{}).inquiry(23, 4, nil)
	if err := once.run(0, 1); err != nil || !slices.Equal(q.replies, once.replies) || q.asked != 23 || q.differ != 4 {
		t.Errorf("%v: %+v, in one go %+v", err, q.replies, once.replies)
	}
	k.boots = nil
	if err := k.inquiry(23, 4, kept()).run(0, 1); err != nil || len(k.boots) != 0 {
		t.Errorf("%v: asked again for %v", err, k.boots)
	}
}

// TestCostsAreAsked has a cost where it is asked for and a probe may stand, and measures each way once.
func TestCostsAreAsked(t *testing.T) {
	step, o := &costing.Cost{Mode: "stepped"}, &explainOptions{module: filepath.Join(t.TempDir(), "none")}
	s := newCosts(newApp(io.Discard, io.Discard), o, distro.Config{}, nil)
	s.known["stepped"] = step
	for _, x := range []struct {
		asked, may bool
		kind       string
		want       *costing.Cost
		code       int
	}{{false, true, "boosted", nil, exitOK}, {true, false, "boosted", nil, exitOK}, {true, true, "stepped", step, exitOK}, {true, true, "boosted", nil, exitUsage}} {
		v := &answered{Verdict: probing.Verdict{Probe: x.may, Kind: x.kind}}
		o.cost = x.asked
		err := s.fill(v)
		f := &failure{code: exitOK}
		require.That(t, (err == nil || errors.As(err, &f)) && v.Cost == x.want && f.code == x.code, "%+v: %v, exit code %d, %v", x, v.Cost, f.code, err)
	}
}

// TestReturnsAndUser refuses what does not go with return probes and user probes, and return probes behind the start of a function.
func TestReturnsAndUser(t *testing.T) {
	kernel := explainOptions{format: "text", cost: true}
	with := func(change func(*explainOptions)) *explainOptions {
		o := kernel
		change(&o)
		return &o
	}
	returns, user := func(o *explainOptions) { o.returns = true }, func(o *explainOptions) { o.user = true }
	for i, x := range []struct {
		o      *explainOptions
		places []string
		want   string // of the error; "" for none
	}{
		{with(returns), []string{"f"}, ""},
		{with(user), nil, ""},
		{with(returns), nil, "name places"},
		{with(func(o *explainOptions) { o.returns, o.cost = true, false }), []string{"f"}, "--returns and --user go with --kernel and --cost"},
		{with(func(o *explainOptions) { o.user, o.image = true, "x86_64-2020" }), nil, "--returns and --user go with --kernel and --cost"},
		{with(func(o *explainOptions) { o.returns, o.sample = true, 1 }), nil, "--returns is of functions: name them"},
		{with(func(o *explainOptions) { o.returns, o.all = true, true }), nil, "--returns is of functions: name them"},
		{with(user), []string{"f"}, "--user measures probes in programs"},
		{with(func(o *explainOptions) { o.user, o.returns = true, true }), nil, "--user measures probes in programs"},
		{with(func(o *explainOptions) { o.user, o.verify = true, true }), nil, "--user measures probes in programs"},
		{with(func(o *explainOptions) { o.user, o.all = true, true }), nil, "--user measures probes in programs"},
		{with(func(o *explainOptions) { o.user, o.sample = true, 1 }), nil, "--user measures probes in programs"},
	} {
		err := x.o.check(x.places)
		require.That(t, (err == nil) == (x.want == "") && (err == nil || strings.Contains(err.Error(), x.want)), "%d: %v, want %q", i, err, x.want)
	}
	for _, x := range []struct {
		place, kind string
		want        bool
	}{{"f", "stepped", true}, {"f+0x0", "emulated", true}, {"f+0x4", "ftrace", true}, {"f+0x4", "stepped", false}, {"f+0x10", "emulated", false}} {
		require.Equal(t, starts(&probing.Verdict{Place: x.place, Kind: x.kind}), x.want, "%s, which is %s, starts a function", x.place, x.kind)
	}
	s := newCosts(newApp(io.Discard, io.Discard), with(returns), distro.Config{}, nil)
	require.Error(t, s.fill(&answered{Verdict: probing.Verdict{Probe: true, Kind: "stepped", Place: "f+0x4"}}), "a return probe stands at the start of a function, and f+0x4 is none", "an offset")
}

// TestJournal reads each answer as it was written.
func TestJournal(t *testing.T) {
	j := &journal{file: filepath.Join(t.TempDir(), "answers"), Key: "this kernel", Rounds: 1}
	require.Must(j.open())(t)
	want := []probing.Answer{{}, {Errno: 22}, {Ftrace: true}, {Optimized: true}, {Errno: 1, Ftrace: true, Optimized: true}}
	require.NoError(t, j.add(3, want))
	if kept, err := j.open(); err != nil || len(kept) != 1 || !slices.Equal(kept[3], want) {
		t.Errorf("%+v, %v", kept, err)
	}
}

// TestJournalRefuses names files that are not of these places, and damaged ones.
func TestJournalRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "answers")
	j := &journal{file: file, Key: "this kernel", Rounds: 4}
	require.NoError(t, require.Err(j.open()))
	head := require.Must(os.ReadFile(file))(t)
	for text, want := range map[string]string{
		"": "is no file of answers to these places", strings.Replace(string(head), "this", "that", 1): "is no file of answers",
		string(head) + "{\"round\":0\n": "is damaged", string(head) + "{\"round\":0,\"answers\":[0]}\n": "has 1 answers to 6 places",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.Error(t, (&questioned{}).inquiry(23, 4, j).run(0, 1), want, "%q", text)
	}
}

// TestExplainEveryVerified prints what a kernel said of some places and not of others.
func TestExplainEveryVerified(t *testing.T) {
	from := madeUpKernel(t)
	k := require.Must(probing.Read(from, nil))(t)
	sites := k.All()
	q := &inquiry{sites: sites, replies: make([]reply, len(sites)), asked: 2, differ: 1}
	q.replies[0] = reply{asked: true, agrees: true}
	q.replies[1] = reply{Answer: probing.Answer{Errno: 22}, asked: true}
	said := ""
	q.say = func(format string, more ...any) { said = fmt.Sprintf(format, more...) }
	if q.progress(0); !strings.HasSuffix(said, " 2 of 8 places, and for 1 otherwise than the rules") {
		t.Error(said)
	}
	for format, wants := range map[string][]string{
		"text": {"    the kernel says otherwise: error 22\n", "2 places, the kernel agrees on 1; it was not asked for 6 others\n"},
		"json": {"\"kernel\": {\n      \"errno\": 22,"},
	} {
		var out bytes.Buffer
		a := &app{out: &sticky{w: &out}}
		require.Error(t, a.printVerdicts(&explainOptions{all: true, format: format}, distro.Config{Kernel: from}, k, sites, q), "says otherwise of 1 of 2 places", "%s", format)
		for _, s := range wants {
			require.That(t, strings.Count(out.String(), s) == 1, "%q is not once in\n%s", s, out.String())
		}
	}
}
