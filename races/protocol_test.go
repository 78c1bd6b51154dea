package races

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/mutants"
	"kprobesim/internal/require"
)

// Mistakes in the protocols of kprobes, smp and the guest that no switch of the program makes, and what searches have made of them.
const (
	protocolList  = "protocol.mutants"
	protocolFound = "protocol.found"
)

const (
	woven     = "KPROBESIM_WOVEN" // says in the environment what to search, for a binary with mutants in it
	wovenTest = "TestWoven"
)

var (
	protocolFlag = flag.String("protocols", "", "mutants of "+protocolList+" to search for: names with commas between them, all, or new")
	scheduleFlag = flag.Uint64("schedules", 20000, "schedules of each variant that is asked for a mutant")
)

// protocolMutants reads the list. Mutants of the guest name no images, since the variants do.
func protocolMutants(t *testing.T) []mutants.Mutant {
	t.Helper()
	all, loaded := require.Must(mutants.Read(protocolList))(t), map[string]*Scenario{}
	for i := range all {
		m := &all[i]
		for _, by := range m.By {
			_, v := variantOf(t, by, loaded)
			if m.Guest() && !slices.Contains(m.Images, v.Image()) {
				m.Images = append(m.Images, v.Image())
			}
		}
	}
	return all
}

// variantOf finds a variant by SCENARIO/VARIANT.
func variantOf(t *testing.T, name string, loaded map[string]*Scenario) (*Scenario, *Variant) {
	t.Helper()
	scenario, variant, _ := strings.Cut(name, "/")
	if loaded[scenario] == nil {
		loaded[scenario] = require.Must(Load(scenario))(t)
	}
	return loaded[scenario], require.Must(loaded[scenario].Variant(variant))(t)
}

// TestProtocolMutants holds the list against the tree and against what searches have found: each mutant is searched for, and one that
// no search notices says why.
func TestProtocolMutants(t *testing.T) {
	all, root := protocolMutants(t), require.Must(filepath.Abs(".."))(t)
	found := require.Must(mutants.ReadFound(protocolFound))(t)
	names := map[string]bool{}
	for i := range all {
		m := &all[i]
		if err := m.Check(root); err != nil {
			t.Error(err)
		}
		require.That(t, !names[m.Title], "%s is there twice", m)
		require.That(t, m.Title != "" && m.Class != "" && m.Effect != "" && len(m.By) > 0, "%s: write mutant, class, effect and by", m)
		names[m.Title] = true
		switch f := mutants.At(found, m); {
		case f == nil:
			t.Errorf("%s is not in %s, or is another one there: run make protocols PROTOCOLS=new", m, protocolFound)
		case f.Caught() && m.Harmless+m.Open != "":
			t.Errorf("%s is noticed by %s: it neither does no harm nor is open", m, f.By)
		case !f.Caught() && (m.Harmless == "") == (m.Open == ""):
			t.Errorf("%s is noticed by nothing: write harmless with the reason, or open with what is missing", m)
		}
	}
	_, err := mutants.Weave(root, t.TempDir(), all)
	require.NoError(t, err)
}

// TestProtocolsNotice searches for mutants by hand, and writes down what was found.
func TestProtocolsNotice(t *testing.T) {
	if *protocolFlag == "" {
		t.Skip("on demand: make protocols searches for all mutants, for an hour or more")
	}
	all, root := protocolMutants(t), require.Must(filepath.Abs(".."))(t)
	b := require.Must(mutants.NewBench(root, t.TempDir(), all))(t)
	for i := range all {
		found := require.Must(mutants.ReadFound(protocolFound))(t)
		if !protocolWanted(&all[i], found) {
			continue
		}
		f, err := searchWoven(t, b, i, &all[i], *scheduleFlag)
		if err != nil {
			t.Error(err)
			continue
		}
		found = slices.DeleteFunc(found, func(o mutants.Found) bool { return o.Title == f.Title })
		require.NoError(t, mutants.WriteFound(protocolFound, all, append(found, f)))
	}
}

// protocolWanted reports whether the flag names a mutant.
func protocolWanted(m *mutants.Mutant, found []mutants.Found) bool {
	switch *protocolFlag {
	case "all":
		return true
	case "new":
		return mutants.At(found, m) == nil
	}
	return slices.Contains(strings.Split(*protocolFlag, ","), m.Title)
}

// searchWoven searches for one mutant, in a process of its own.
func searchWoven(t *testing.T, b *mutants.Bench, i int, m *mutants.Mutant, schedules uint64) (f mutants.Found, err error) {
	t.Helper()
	begin := time.Now()
	patience := 2*time.Minute + time.Duration(schedules)*time.Duration(len(m.By))*20*time.Millisecond
	out, err := b.Output(t.Context(), i, "races."+wovenTest, patience, fmt.Sprintf("%s=%d %s", woven, schedules, strings.Join(m.By, " ")))
	_, line, ok := strings.Cut(out, woven+" ")
	if err != nil || !ok {
		return f, fmt.Errorf("%s is not searched for: %v\n%s", m, err, out)
	}
	line, _, _ = strings.Cut(line, "\n")
	var w wovenFound
	if err := json.Unmarshal([]byte(line), &w); err != nil {
		return f, err
	}
	f = w.Found
	f.Title, f.Sum = m.Title, m.Sum()
	if f.Caught() {
		if n := soundUntil(t, f.By, w.Last); n < w.Last {
			return f, fmt.Errorf("%s: schedule %d of %s goes wrong without the mutant, too", m, n, f.By)
		}
	}
	t.Logf("%s: %s, %s, in turns %s, %d schedules, %.1f s", m.Title, f.By, f.Kind, f.InTurns, f.Schedules, time.Since(begin).Seconds())
	return f, nil
}

// wovenFound holds the answer of a binary with mutants.
type wovenFound struct {
	mutants.Found
	Last uint64 // schedules of the variant that has noticed the mutant
}

// soundUntil returns the first schedule that goes wrong without a mutant, or n where the first n do not.
func soundUntil(t *testing.T, name string, n uint64) uint64 {
	t.Helper()
	s, v := variantOf(t, name, map[string]*Scenario{})
	opt := Default()
	opt.Schedules, opt.Enough, opt.Workers = n, 1, 1
	tally := require.Must(Search(s, v, opt))(t)
	if tally.Violations == 0 {
		return n
	}
	return tally.Found[0].N
}

// TestProtocolSample searches again for some of the mutants of Go code that were noticed quickly.
func TestProtocolSample(t *testing.T) {
	hosttools.Long(t, "mutants of the protocols, which take a build", "what searches have found stands in protocol.found, and is held against the tree")
	const sample, quick = 6, 50
	all, root := protocolMutants(t), require.Must(filepath.Abs(".."))(t)
	found := require.Must(mutants.ReadFound(protocolFound))(t)
	b := require.Must(mutants.NewBench(root, t.TempDir(), all))(t)
	chance, n := rand.New(rand.NewPCG(1, 1)), 0
	for _, i := range chance.Perm(len(all)) {
		f := mutants.At(found, &all[i])
		if n == sample || f == nil || !f.Caught() || f.Schedules > quick || all[i].Guest() {
			continue
		}
		n++
		got, err := searchWoven(t, b, i, &all[i], 100*quick)
		require.NoError(t, err)
		require.That(t, got.Caught(), "%s was noticed within %d schedules, and is not within %d", &all[i], f.Schedules, got.Schedules)
	}
}

// TestWoven searches in the binary that it is in, which has mutants in it. Like a switch of the program, one may refuse what it has
// spoilt itself.
func TestWoven(t *testing.T) {
	asked := strings.Fields(os.Getenv(woven))
	if len(asked) == 0 {
		t.Skip("on demand: TestProtocolsNotice runs it with a mutant")
	}
	f := searchVariants(t, woven, asked[1:], require.Must(strconv.ParseUint(asked[0], 10, 64))(t))
	if f.Last == 0 {
		strict(t, &f, asked[1:])
	}
	text := require.Must(json.Marshal(f))(t)
	fmt.Printf("%s %s\n", woven, text)
}

// searchVariants asks variants for a mutant until one notices it.
func searchVariants(t *testing.T, mutant string, variants []string, schedules uint64) wovenFound {
	t.Helper()
	f := wovenFound{Found: mutants.Found{By: "-", Kind: "-", InTurns: "-"}}
	opt := Default()
	opt.Enough, opt.Workers, opt.Schedules = 1, 1, schedules
	for _, name := range variants {
		s, v := variantOf(t, name, map[string]*Scenario{})
		l := require.Must(newLab(s, v, mutant))(t)
		opt = opt.of(s, v)
		tally := require.Must(search(&opt, l.run))(t)
		f.Schedules += tally.Schedules
		if tally.Violations == 0 {
			continue
		}
		t.Logf("%s, schedule %d: %s", name, tally.Found[0].N, tally.Found[0].Violation)
		f.Last = tally.Schedules
		f.By, f.Kind, f.InTurns = name, string(tally.Found[0].Violation.Kind), inTurns(t, l)
		break
	}
	return f
}

// strict asks the variants whether a probe is not what their script expects, which a search lets pass in a kernel with a mistake.
func strict(t *testing.T, f *wovenFound, variants []string) {
	t.Helper()
	opt := Default()
	opt.Schedules, opt.Workers = 20, 1
	for _, name := range variants {
		s, v := variantOf(t, name, map[string]*Scenario{})
		tally, err := search(&opt, require.Must(newLab(s, v, ""))(t).run)
		f.Schedules += tally.Schedules
		var unmet *scriptError
		if errors.As(err, &unmet) {
			t.Logf("%s: %v", name, err)
			f.By, f.Kind, f.Last = name, "script", tally.Schedules+1
			return
		}
	}
}

// inTurns returns the kind of violation when each CPU runs until it waits.
func inTurns(t *testing.T, l *lab) string {
	t.Helper()
	out := require.Must(l.run(&untilItWaits{}, 0, 1))(t)
	if len(out) == 0 || out[0].Violation == nil {
		return "-"
	}
	return string(out[0].Violation.Kind)
}

// untilItWaits has a CPU run until it waits, or for long.
type untilItWaits struct {
	roundRobin
	left int
}

func (x *untilItWaits) begin(uint64) { x.left = patience }

func (x *untilItWaits) next(p *point) (cpu, steps int) {
	if x.left -= weight(p); p.stays() && x.left > 0 && !p.spin {
		return p.last, coldSlice
	}
	x.left = patience
	return after(p), coldSlice
}
