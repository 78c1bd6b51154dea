package describing

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kprobesim/internal/doc"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/native"
	"kprobesim/internal/require"
	"kprobesim/judging"
	"kprobesim/machines"
)

// modern is a describer of a host that is a core with prefetchers and other numbers.
func modern(t *testing.T, numbers ...string) *Describer {
	t.Helper()
	root := shipped(t, "epyc-9654")
	short := require.Must(doc.ParseSetting(`cost.rep_stos_short={ issue = 32, latency = 32, source = "IL: 0" }`))(t) // which it leaves out
	require.NoError(t, short.Apply(root))
	other := root.Clone()
	for _, n := range numbers {
		require.NoError(t, require.Must(doc.ParseSetting(n))(t).Apply(other))
	}
	h := hosts["intel"]()
	h.log, h.pricer = &strings.Builder{}, judging.NewPricer(&require.Must(read(other))(t).CPU)
	d := &Describer{Host: h, Root: root, Read: read}
	d.begin("host", time.Unix(0, 0))
	return d
}

// TestStructures finds each number of a host again that has another one.
func TestStructures(t *testing.T) {
	found := map[string]float64{
		"predictor.tagged.override": 4, "predictor.tagged.bits": 9, "predictor.tagged.longest": 200, "predictor.target_entries": 2048,
		"cache.l3.cycles_per_line": 9, "memory.cycles_per_line": 25, "cache.l2.cycles_per_stored_line": 6.5,
		"cache.l3.cycles_per_stored_line": 12, "memory.cycles_per_stored_line": 35, "prefetch.stream.ahead": 10, "prefetch.stride.most": 1024,
		"cost.rep_movs.issue": 24, "cost.rep_movs_line.issue": 3.5, "cost.rep_movs_short.issue": 15,
		"cost.rep_stos.issue": 41, "cost.rep_stos_line.issue": 0.75, "cost.rep_stos_short.issue": 21,
	}
	all := hosttools.Share(t, "structures", 4, structures())
	require.Equal(t, len(structures()), len(found), "structures with a value here")
	for _, s := range all {
		d := modern(t, fmt.Sprintf("%s=%s", s.key, value(found[s.key])))
		synctest.Test(t, func(*testing.T) { require.NoError(t, d.one(&s)) })
		require.Equal(t, strings.Join(append(d.Open, d.found(s.key)...), "; "), number(found[s.key]).Text, "%s", s.key)
	}
}

// value is a number as a setting has it.
func value(v float64) string {
	if n := number(v); n.Kind == doc.String {
		return fmt.Sprintf("%q", n.Text)
	}
	return number(v).Text
}

// one measures one structure.
func (d *Describer) one(s *structure) error {
	m, err := d.Read(d.Root)
	if err != nil {
		return err
	}
	f := &finding{d: d, structure: *s, loops: s.shown(m), path: strings.Split(s.key, ".")}
	if _, err := f.time(); err != nil {
		return err
	}
	return f.find()
}

// found is the number of a key, if it was measured and the description has it.
func (d *Describer) found(key string) (now []string) {
	for _, r := range d.Rows {
		if r.Key == key && d.text(strings.Split(key, ".")...) == r.Now {
			now = append(now, r.Now)
		}
	}
	return now
}

// TestStructuresThatStayOpen has hosts that no number explains, and loops that none of them changes.
func TestStructuresThatStayOpen(t *testing.T) {
	one := func(c *judging.Case) func(*machines.Machine) []*judging.Case {
		return func(*machines.Machine) []*judging.Case { return []*judging.Case{c} }
	}
	for _, c := range []struct {
		host string
		s    structure
		open string
	}{
		{"event.mispredict.cycles=19", structure{"predictor.return_stack", row(30, 1, 4), one(judging.RandomBits(64))}, "predictor.return_stack: 64 random bits 2.31, 0 % off at best: any value prices it alike"},
		{"core.width=1", structure{"predictor.tagged.bits", row(7, 2, 4), one(judging.RandomBits(512))}, "predictor.tagged.bits: 512 random bits 5.53, 90 % off at best: no value explains it"},
		{"core.width=6", structure{"predictor.tagged.bits", row(7, 2, 2), one(judging.RandomBits(4096))}, ""},
	} {
		d := modern(t, c.host)
		synctest.Test(t, func(*testing.T) { require.NoError(t, d.one(&c.s)) })
		require.Equal(t, strings.Join(d.Open, "; "), c.open, "%s of a host with %s", c.s.key, c.host)
	}
}

// TestTransfers takes the nearest processor that is no thread of the same core.
func TestTransfers(t *testing.T) {
	for _, c := range []struct {
		lines []float64
		want  string
	}{
		{nil, "event.line_transfer: this process may use one processor alone"},
		{[]float64{20}, "event.line_transfer: the other processors are threads of the same core"},
		{[]float64{20, 300, 212.4, 250}, "212 44"},
		{[]float64{300, 250, 251, 252, 100}, "250 44"},
	} {
		d := modern(t)
		d.Host.(*madeUp).lines = c.lines
		synctest.Test(t, func(*testing.T) { require.NoError(t, d.transfers()) })
		got := append(d.found("event.line_transfer.cycles"), d.found("event.line_upgrade.cycles")...)
		require.Equal(t, strings.Join(append(d.Open, got...), " "), c.want, "lines %v", c.lines)
	}
}

// TestSecondTLB keeps the ways of the family and has a power of two of sets.
func TestSecondTLB(t *testing.T) {
	for pages, want := range map[int]string{
		1024: "768", 1400: "1536", 2048: "1536", 3100: "3072", 5000: "3072",
		0: "tlb.second: up to 6144 pages no load walks",
	} {
		d := modern(t)
		d.Host.(*madeUp).second = pages
		synctest.Test(t, func(*testing.T) { require.NoError(t, d.secondTLB()) })
		require.Equal(t, strings.Join(append(d.Open, d.found("tlb.second.entries")...), " "), want, "a host whose second level has %d pages", pages)
		require.NoError(t, require.Err(read(d.Root)))
	}
	d := &Describer{Root: family(t)}
	require.NoError(t, d.secondTLB()) // the family has none
}

// TestTransfersBesideOthers stays open where the other processor never answers.
func TestTransfersBesideOthers(t *testing.T) {
	d := modern(t)
	h := d.Host.(*madeUp)
	h.lines, h.from, h.err = []float64{100}, 1, native.ErrForever
	synctest.Test(t, func(*testing.T) { require.NoError(t, d.transfers()) })
	require.Equal(t, strings.Join(d.Open, "; "), "event.line_transfer: "+judging.ErrBusy.Error(), "what is open")
}

// TestNumbersThatACoreMayHave asks a description of a core without pipes.
func TestNumbersThatACoreMayHave(t *testing.T) {
	d := &Describer{Root: family(t), Read: read}
	before := string(doc.Write(d.Root))
	for key, may := range map[string]bool{
		"cost.cmov.latency": true, "cost.cmov.flags": false, "cost.cmov.port": true, "cost.pause.issue": false, "event.mispredict.cycles": true,
	} {
		require.Equal(t, d.mayHave(strings.Split(key, ".")), may, "%s", key)
	}
	require.Equal(t, string(doc.Write(d.Root)), before, "the description")
}

// TestSuits takes descriptions of the host's instruction set alone.
func TestSuits(t *testing.T) {
	require.NoError(t, Suits(family(t)))
	for _, name := range []string{"power8", "pentium-m-1495"} {
		require.Error(t, Suits(shipped(t, name)), name+" does not describe a processor of x86_64", "%s", name)
	}
}
