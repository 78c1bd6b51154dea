package sensitivity

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/results/formats"
)

// weighed gives a hit a cost that is a sum of all numbers of the machine, some of which weigh nothing for one of the points or both.
func weighed(p *schema.Point) (*kinds.Measurement, error) {
	n := p.Workload.Hits
	per := clock.Ticks(0)
	for _, param := range p.Machine.Params {
		digits := strings.IndexFunc(param.Value+" ", func(c rune) bool { return !strings.ContainsRune("0123456789./", c) })
		number, err := clock.Parse(param.Value[:digits])
		if digits == 0 || err != nil {
			continue
		}
		weight := crc32.ChecksumIEEE([]byte(param.Path)) % 4
		if p.Probe.Name == "b" {
			weight = weight * weight % 4
		}
		per += clock.Ticks(weight) * number
	}
	return &kinds.Measurement{
		Counts: kinds.Counts{Calls: n, Hits: n}, Probed: kinds.Sample{Time: clock.Ticks(n) * (per + 600)}, Base: kinds.Sample{Time: clock.Ticks(n) * 600},
	}, nil
}

// TestAnalyses holds tables, records and notes of analyses of a toy whose numbers are known in every way: by a source, by a guess, with an
// uncertainty in percent or in cycles, or not at all.
func TestAnalyses(t *testing.T) {
	var out strings.Builder
	for _, c := range []struct {
		refit bool
		sets  string
	}{{false, ""}, {true, "workload.hits=99"}, {true, "workload.hits=101"}, {false, "workload.hits=100 machine.event.trap.cycles=3"}} {
		dir := filepath.Dir(exptest.ToyFiles(t))
		machine := strings.NewReplacer(
			`cycles = "15", source = "book: 7"`, `cycles = "15", uncertainty = "20 cycles", source = "book: 7"`,
			"width = 4\nwindow = 96", "width = 4\nwindow = 96\nuncertainty = \"25 %\"",
			`entries = 256, ways = 4, large_entries = 32, large_ways = 4, source = "book: 5"`, `entries = 256, ways = 4, large_entries = 32, large_ways = 4, source = "prior: as others"`,
			`issue = "1/4", latency = 0, source = "book: 9"`, `issue = "1/4", latency = 0, uncertainty = "2 cycles", source = "book: 9"`,
			"source = \"book: 2\"", "source = \"prior: guessed\"", `book = "A book"`, "book = \"A book\"\nprior = \"a guess\"",
		).Replace(exptest.ToyMachine)
		exptest.Write(t, dir, "machine.toml", machine)
		a := require.Must(New(exptest.ToyLoader(), filepath.Join(dir, "toy.toml"), strings.Fields(c.sets), c.refit))(t)
		fmt.Fprintf(&out, "## refit %v %s\n%d points at most, all are %d\n", c.refit, c.sets, a.Most(), len(a.Everything().Points))
		require.NoError(t, a.Run(&running.Runner{Measure: weighed, Workers: 1}))
		out.WriteString(a.Table(4).Text())
		fmt.Fprintf(&out, "records %.6x\n", sha256.Sum256(formats.CSV(require.Must(a.Set())(t))))
	}
	exptest.Golden(t, "analyses.txt", out.String())
}

// TestFailingPoints names three points that failed, and counts the others. One whose hits were missed has failed, too.
func TestFailingPoints(t *testing.T) {
	for failing, want := range map[int]int{1: 1, 3: 3, 4: 4, 5: 4} {
		a := require.Must(New(exptest.ToyLoader(), exptest.ToyFiles(t), nil, false))(t)
		n := 0
		err := a.Run(&running.Runner{Workers: 1, Measure: func(p *schema.Point) (*kinds.Measurement, error) {
			m, err := weighed(p)
			switch n++; {
			case n == 1:
				m.Missed = 1
			case n <= failing:
				err = errors.New("failure " + strconv.Itoa(n))
			}
			return m, err
		}})
		lines := strings.Split(fmt.Sprint(err), "\n")
		require.That(t, len(lines) == want && strings.HasPrefix(lines[0], "point k on toy-1: "), "%d failed: %q", failing, lines)
		require.Equal(t, strings.Contains(fmt.Sprint(err), fmt.Sprintf("and %d more", failing-3)), failing > 3, "%d failed: whether more are counted", failing)
	}
	require.Error(t, require.Err(New(planning.NewLoader(), "irq-off", nil, false)), "irq-off is of kind irq-off: only the overhead of a hit (kind overhead) is analysed", "another kind")
}
