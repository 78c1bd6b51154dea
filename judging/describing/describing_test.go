package describing

import (
	"errors"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kprobesim/cpus"
	"kprobesim/cpus/x86"
	"kprobesim/internal/clock"
	"kprobesim/internal/doc"
	"kprobesim/internal/native"
	"kprobesim/internal/require"
	"kprobesim/judging"
	"kprobesim/machines"
)

// simulated is a host that is simulated, for the loops of the list. It has nothing else to be measured.
type simulated struct {
	pricer *judging.Pricer
	busy   bool
}

func (s *simulated) Cycles(block []byte, pages []uint64) (float64, error) {
	if s.busy {
		return 0, judging.ErrBusy
	}
	return s.pricer.Cycles(block, pages)
}

func (s *simulated) Time(c *judging.Case) (float64, error) {
	if s.busy {
		return 0, judging.ErrBusy
	}
	return s.pricer.Price(c)
}

func (*simulated) Difference([]byte, []byte, int, *native.Job) (float64, error) {
	return 0, errors.ErrUnsupported
}

func (*simulated) Shortest([]byte, *native.Job, float64) (float64, error) {
	return 0, errors.ErrUnsupported
}
func (*simulated) Values(...[]byte) ([]uint64, error) { return nil, errors.ErrUnsupported }
func (*simulated) CycleTicks() float64                { return 1 }

// family is the document of the machine that most tests have.
func family(t *testing.T) *doc.Node {
	t.Helper()
	return shipped(t, "opteron-246")
}

// shipped is the document of a shipped machine.
func shipped(t *testing.T, name string) *doc.Node {
	t.Helper()
	file := "../../experiments/machines/" + name + ".toml"
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	root, err := doc.Parse(file, b)
	require.NoError(t, err)
	return root
}

func read(root *doc.Node) (*machines.Machine, error) {
	var errs doc.Errors
	m := machines.Read(root, []*cpus.ISA{x86.ISA64()}, &errs)
	return m, errs.Err()
}

// describer is one of a host that is a shipped machine with other numbers.
func describer(t *testing.T, numbers ...string) (*Describer, *simulated) {
	t.Helper()
	other := family(t)
	for _, n := range numbers {
		s := require.Must(doc.ParseSetting(n))(t)
		require.NoError(t, s.Apply(other))
	}
	host := require.Must(read(other))(t)
	s := &simulated{pricer: judging.NewPricer(&host.CPU)}
	d := &Describer{Host: s, Root: family(t), Read: read, Say: func(string, ...any) {}, name: "opteron-246"}
	d.begin("host", time.Unix(0, 0))
	return d, s
}

// only runs the loops of some tables.
func only(t *testing.T, d *Describer, tables ...string) {
	t.Helper()
	for _, l := range loops() {
		for _, k := range tables {
			if l.Key == k && d.knows(l) {
				require.NoError(t, d.explain(l))
			}
		}
	}
}

// A host that is the simulator with other numbers is described by these numbers.
func TestFindsNumbers(t *testing.T) {
	d, _ := describer(t, "cost.imul.latency=7", "cost.shift.latency=2", "cost.bit_scan.issue=4", "event.store_forward.cycles=5", "cost.lea.latency=1")
	only(t, d, "cost.imul", "cost.shift", "cost.bit_scan", "event.store_forward", "cost.bswap")
	for key, want := range map[string]string{
		"cost.imul.latency": "7", "cost.shift.latency": "2", "event.store_forward.cycles": "5", "cost.bswap.latency": "1",
	} {
		require.Equal(t, d.text(strings.Split(key, ".")...), want, "%s", key)
	}
	for table, want := range map[string]string{
		"cost.imul": "here: ", "cost.bswap": "here: bswap %eax, 1.00 cycles", "cost.mul": "prior: opteron-246 has it from IL:",
	} {
		got := d.text(append(strings.Split(table, "."), "source")...)
		require.That(t, strings.HasPrefix(got, want), "%s: source %q, want %q", table, got, want)
	}
	wrote := require.Must(doc.Parse("host", doc.Write(d.Root)))(t)
	if m, err := d.Read(wrote); err != nil || m.Name != "host" || len(m.FittedParams()) != 0 {
		t.Errorf("%v, %v", m, err)
	}
}

// TestFindsMispredictions finds what a wrong prediction takes, however much of it other work hides.
func TestFindsMispredictions(t *testing.T) {
	for _, want := range []string{"4", "10", "17", "25"} {
		d, _ := describer(t, "event.mispredict.cycles="+want)
		require.NoError(t, d.misprediction())
		require.Equal(t, d.text("event", "mispredict", "cycles"), want, "cycles of a wrong prediction")
	}
}

// A loop that no number explains is open, and its table is as it was; so is one that a busy host does not settle.
func TestLeavesOpen(t *testing.T) {
	d, s := describer(t)
	table := d.text("cost", "nop", "port")
	wide := require.Must(read(family(t)))(t)
	wide.CPU.Width = 6 // which the description is not told
	k := wide.CPU.Classes["nop"]
	k.Port, k.Issue, k.Slots = "", 0, 0
	wide.CPU.Classes["nop"] = k
	s.pricer = judging.NewPricer(&wide.CPU)
	only(t, d, "cost.nop")
	require.That(t, len(d.Open) != 0 && strings.Contains(d.Open[0], "no value explains it"), "open: %q", d.Open)
	if got := d.text("cost", "nop", "port"); got != table {
		t.Errorf("nop has port %q, and had %q", got, table)
	}
	s.busy, d.Open = true, nil
	only(t, d, "cost.bswap")
	require.That(t, len(d.Open) == 1 && strings.Contains(d.Open[0], judging.ErrBusy.Error()), "open: %q", d.Open)
}

// How loads get into each other's way is found on a host of three pipes for loads, and not on one of two.
func TestFindsColumnsOfLoads(t *testing.T) {
	for _, c := range []struct {
		column, pipes string
		twice, found  string // split_twice, and forwards_inside
	}{
		{"8", `["p2", "p3", "p5"]`, "true", "8"},
		{"4", `["p2", "p3", "p5"]`, "false", "4"},
		{"4", `["p2", "p3"]`, "true", ""},
	} {
		const file = "../../experiments/machines/xeon-gold-6330.toml"
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		root, err := doc.Parse(file, b)
		require.NoError(t, err)
		for _, n := range []string{"back_end.load_column=" + c.column, "back_end.split_twice=" + c.twice, "back_end.forwards_inside=" + c.twice, "port.load.ports=" + c.pipes} {
			s := require.Must(doc.ParseSetting(n))(t)
			require.NoError(t, s.Apply(root))
		}
		host, err := read(root)
		require.NoError(t, err)
		d := &Describer{Host: &simulated{pricer: judging.NewPricer(&host.CPU)}, Root: root.Clone(), Read: read, name: "xeon-gold-6330"}
		d.begin("host", time.Unix(0, 0))
		d.set(integer(16), "back_end", "load_column")
		for _, old := range []string{"split_twice", "split_overlap", "forwards_inside"} {
			d.set(&doc.Node{Kind: doc.Bool, Text: "true"}, "back_end", old)
		}
		require.NoError(t, d.loads())
		got := d.text("back_end", "load_column")
		require.That(t, got == c.found && len(d.Open) == 0, "columns of %s bytes, pipes %s: found %q, open %q", c.column, c.pipes, got, d.Open)
		require.Equal(t, d.text("back_end", "split_twice") == "true", (c.twice == "true"), "loads of two lines take their pipes twice: %s, found", c.twice)
		require.Equal(t, d.text("back_end", "forwards_inside") == "true", (c.twice == "true"), "stores hand over any bytes: %s, found", c.twice)
	}
}

// answering is a host whose loops take given cycles, one answer after the other, and are noted. Then it is busy.
type answering struct {
	simulated
	answers []float64
	log     strings.Builder
}

func (a *answering) Cycles(block []byte, _ []uint64) (v float64, _ error) {
	if len(a.answers) == 0 {
		return 0, judging.ErrBusy
	}
	v, a.answers = a.answers[0], a.answers[1:]
	fmt.Fprintf(&a.log, "%x takes %g\n", block, v)
	return v, nil
}

// Which loops of loads are timed is held, and what becomes of times at both sides of each limit.
func TestTimesOfLoads(t *testing.T) {
	const file = "../../experiments/machines/xeon-gold-6330.toml"
	root := require.Must(doc.Parse(file, require.Must(os.ReadFile(file))(t)))(t)
	m, err := read(root)
	require.NoError(t, err)
	var out strings.Builder
	for _, answers := range [][]float64{
		{6, 5, 5, 5, 6},
		{6.1, 5, 6, 6.1, 5, 6.1},
		{6.1, 5, 6.1, 6, 4, 5, 6},
		{6.1, 5, 6.1, 6.1, 6, 7.4, 5, 6},
		{6.1, 5, 6.1, 6.1, 6.1, 7.4, 5, 6},
		{4, 4, 4.9, 5, 6},
		{4, 4, 5, 5, 6},
		{5, 5, 6, 5, 6},
		{},
		{6},
		{6.1, 5},
		{6, 5},
		{6, 5, 5},
		{6, 5, 5, 5},
	} {
		h := &answering{answers: answers}
		d := &Describer{Host: h, Root: root.Clone(), Read: func(*doc.Node) (*machines.Machine, error) { return m, nil }, name: "xeon-gold-6330"}
		d.begin("host", time.Unix(0, 0))
		for _, old := range []string{"split_twice", "split_overlap", "forwards_inside", "uncertainty"} {
			d.set(&doc.Node{Kind: doc.Bool, Text: "old"}, "back_end", old)
		}
		synctest.Test(t, func(*testing.T) { err = d.loads() })
		fmt.Fprintf(&out, "%s%v, not asked for %v, open %q\n", &h.log, err, h.answers, d.Open)
		for _, key := range []string{"load_column", "split_twice", "split_overlap", "forwards_inside", "uncertainty"} {
			fmt.Fprintf(&out, "%s = %s\n", key, d.text("back_end", key))
		}
		found, _, _ := strings.Cut(d.text("back_end", "source"), "; the rest")
		fmt.Fprintf(&out, "%s\n\n", found)
	}
	require.Lines(t, "testdata/loads.txt", out.String(), *update)
}

// A width is one that a description can have: up to eight a cycle, and where cores have no pipes one by which 60 can be divided.
func TestWidths(t *testing.T) {
	const file = "../../experiments/machines/xeon-gold-6330.toml"
	piped := require.Must(doc.Parse(file, require.Must(os.ReadFile(file))(t)))(t)
	for root, most := range map[*doc.Node]int{piped: 8, family(t): 6} {
		for width := range 10 {
			h := &answering{}
			for _, l := range loops() {
				if l.What == "rate" && (l.Key == "cost.mov" || l.Key == "cost.zero_idiom" || l.Key == "cost.alu") {
					again := slices.Repeat([]float64{float64(strings.Count(l.Text, ";")+1) / (float64(width) + 0.01)}, repeats+1)
					h.answers = append(h.answers, again...)
				}
			}
			d := &Describer{Host: h, Root: root.Clone(), Read: read}
			d.begin("host", time.Unix(0, 0))
			var err error
			synctest.Test(t, func(*testing.T) { err = d.width() })
			require.NoError(t, err)
			require.Equal(t, len(d.Open) == 0, width > 0 && width <= most, "%d a cycle, of at most %d, are described", width, most)
			require.That(t, len(d.Open) > 0 || d.text("core", "width") == fmt.Sprint(width), "width %s, want %d", d.text("core", "width"), width)
		}
	}
}

// What readers of a constant pay that is still to be added is found where the description of the family defers any.
func TestFindsDeferredConstants(t *testing.T) {
	for _, defers := range []bool{true, false} {
		const file = "../../experiments/machines/xeon-gold-6330.toml"
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		root, err := doc.Parse(file, b)
		require.NoError(t, err)
		if defers {
			for _, n := range []string{`back_end.defers=["lea_small"]`, `cost.lea_small={ uops = 1, latency = 0, source = "IL: 0" }`} {
				s := require.Must(doc.ParseSetting(n))(t)
				require.NoError(t, s.Apply(root))
			}
		}
		host, err := read(root)
		require.NoError(t, err)
		k := host.CPU.Classes["shift"]
		k.Deferred = 3 * clock.PerCycle
		host.CPU.Classes["shift"] = k
		d := &Describer{Host: &simulated{pricer: judging.NewPricer(&host.CPU)}, Root: root, Read: read, name: "xeon-gold-6330"}
		d.begin("host", time.Unix(0, 0))
		for _, l := range loops() {
			if l.What == deferred && l.Key == "cost.shift" && d.knows(l) {
				require.NoError(t, d.explain(l))
			}
		}
		got := d.text("cost", "shift", deferred)
		require.That(t, (got == "3") == defers, "the description defers: %v, found %q, open %q", defers, got, d.Open)
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 3: "3", 0.25: "1/4", 1.5: "3/2", 7. / 12: "7/12", 1. / 60: "1/60"} {
		require.Equal(t, number(v).Text, want, "%v", v)
	}
	for n := range int64(200) {
		v, _ := big.NewRat(n, 60).Float64()
		require.Equal(t, number(v).Text, big.NewRat(n, 60).RatString(), "%d sixtieths", n)
	}
}
