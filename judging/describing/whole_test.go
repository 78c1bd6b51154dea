package describing

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kprobesim/internal/doc"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/native"
	"kprobesim/internal/require"
	"kprobesim/judging"
)

var update = flag.Bool("update", false, "write the golden files of this package again")

// madeUp is a host whose processor, caches and times are made up. Blocks take what the simulator prices them at. It notes what it
// is asked, so that a program with another byte shows.
type madeUp struct {
	simulated
	log   *strings.Builder
	cpuid map[[2]uint32][4]uint32
	tick  []float64 // ticks in a cycle, one answer after the other
	// In loads, calls and instructions: where times begin to be longer. 0 is nowhere.
	pages, second, depth, window, stores, loads int
	shared                                      int // from which call on another thread of the core takes half of these; 0 is none
	// Cycles of a line that another processor has written, by processor. A store to one that both have takes 44.
	lines []float64
	// From which call on an error is the answer. 0 is none.
	from  int
	calls int
	err   error
	last  string
}

// asked notes a call, and several of the same once.
func (m *madeUp) asked(format string, args ...any) error {
	if line := fmt.Sprintf(format, args...); line != m.last {
		m.last = line
		fmt.Fprintln(m.log, line)
	}
	asksCore := !strings.HasPrefix(format, "now") && !strings.HasPrefix(format, "cpuid") // what a busy host answers all the same
	if m.calls++; m.from > 0 && m.calls >= m.from && (asksCore || m.err != judging.ErrBusy) {
		return m.err
	}
	return nil
}

func sum(programs ...[]byte) string {
	return fmt.Sprintf("%.4x", sha256.Sum256(bytes.Join(programs, []byte{0})))
}

func job(j *native.Job) string {
	type chain struct { // what a chain of ours says
		at, size, step, skew uint64
		large                bool
	}
	var chains []chain
	for _, c := range j.Chains {
		chains = append(chains, chain{c.At, c.Size, c.Step, c.Skew, c.Large})
	}
	return fmt.Sprintf("%d times %d, pages %x, chains %v", j.Passes, j.Repeats, j.Pages, chains)
}

func (m *madeUp) Cycles(block []byte, pages []uint64) (float64, error) {
	time.Sleep(time.Millisecond)
	if err := m.asked("cycles %s %x", sum(block), pages); err != nil || len(block) == 1 {
		return 1, err
	}
	return m.simulated.Cycles(block, pages)
}

func (m *madeUp) CycleTicks() float64 { return m.tick[m.calls%len(m.tick)] }

// Values answers CPUID by the leaf and the part that a program asks for, and counts 2400 ticks in a microsecond.
func (m *madeUp) Values(programs ...[]byte) ([]uint64, error) {
	if len(programs) == 1 {
		return []uint64{uint64(time.Now().UnixMicro()%1e9) * 2400}, m.asked("now %s", sum(programs...))
	}
	n, part := binary.LittleEndian.Uint32(programs[0][1:]), binary.LittleEndian.Uint32(programs[0][6:])
	r := m.cpuid[[2]uint32{n, part}]
	return []uint64{uint64(r[1])<<32 | uint64(r[0]), uint64(r[3])<<32 | uint64(r[2])}, m.asked("cpuid %#x %d %s", n, part, sum(programs...))
}

// Shortest is 300 cycles for two misses apart and half of that where they overlap, and else what a load of a chain takes.
func (m *madeUp) Shortest(p []byte, j *native.Job, near float64) (float64, error) {
	err := m.asked("shortest %s %s near %g", sum(p), job(j), near)
	if j.Beside != nil {
		return m.line(p, j.Beside, err)
	}
	if len(j.Chains) < 2 {
		return 100_000 * m.load(j.Chains[0]), err
	}
	v, most := 150.*2000, m.window
	between := (len(p)/10 - 12) * 3 / 22
	for code, of := range map[string]int{string(storeBuffer.code): m.stores, string(loadQueue.code): m.loads} {
		if strings.Contains(string(p), code+code) {
			most, between = of, (len(p)/10-12)/16
		}
	}
	if m.shared > 0 && m.calls > m.shared {
		most /= 2
	}
	if most > 0 && between > most {
		v *= 2
	}
	return v, err
}

// line answers for Shortest where another processor has the lines.
func (m *madeUp) line(p []byte, other *native.Beside, err error) (float64, error) {
	fmt.Fprintf(m.log, "beside %s on %d\n", sum(other.Program), other.Processor)
	if other.Processor >= len(m.lines) {
		return 0, errors.Join(err, native.ErrAlone)
	}
	if upgrades, _ := judging.Transfer(true, other.Processor); bytes.Equal(p, upgrades) {
		return 44 * judging.Transfers, err
	}
	return m.lines[other.Processor] * judging.Transfers, err
}

func (m *madeUp) Time(c *judging.Case) (float64, error) {
	time.Sleep(time.Millisecond)
	if err := m.asked("time %s", c.Text); err != nil {
		return 1, err
	}
	return m.simulated.Time(c)
}

func (m *madeUp) Difference(more, less []byte, parts int, j *native.Job) (float64, error) {
	err := m.asked("difference %s %d %s", sum(more, less), parts, job(j))
	if len(j.Chains) > 0 {
		return m.load(j.Chains[0]), err
	}
	n := (len(more) - len(less) - 10) / 12 // calls, each of six bytes
	v := 6.25 * float64(n)
	if m.depth > 0 {
		v += 21 * float64(max(0, n-m.depth))
	}
	return v, err
}

// load returns the cycles of a load of a chain.
func (m *madeUp) load(c native.Chain) float64 {
	switch {
	case c.Step == 4096 && m.second > 0 && int(c.Size/4096) > m.second: // some loads walk
		return 70
	case c.Step == 4096 && m.pages > 0 && c.Size == 256*4096: // the second level is full
		return 12.2
	case c.Step == 4096 && m.pages > 0 && int(c.Size/4096) == m.pages: // some loads miss
		return 7.9
	case c.Step == 4096 && m.pages > 0 && int(c.Size/4096) > m.pages:
		return 11.2
	case c.Size <= 32<<10 || c.Step == 4096:
		return 4.1
	case c.Size <= 1<<20:
		return 14.3
	case c.Size <= 32<<20:
		return 51.6
	}
	return 301.4
}

// answers are CPUID's of a processor with a vendor and caches of leaf n, of which each line has level, kind, ways, line and sets.
func answers(vendor string, signature, n uint32, caches ...[5]uint32) map[[2]uint32][4]uint32 {
	word := func(s string) uint32 { return binary.LittleEndian.Uint32([]byte(s)) }
	all := map[[2]uint32][4]uint32{
		{0, 0}:          {22, word(vendor), word(vendor[8:]), word(vendor[4:])},
		{1, 0}:          {signature},
		{0x80000000, 0}: {0x80000008},
		{0x80000007, 0}: {0, 0, 0, 1 << 8},
	}
	brand := fmt.Sprintf("%-41s8-Core\x00", "  Processor   of no maker")
	for i := range 3 {
		b := brand[16*i:]
		all[[2]uint32{0x80000002 + uint32(i), 0}] = [4]uint32{word(b), word(b[4:]), word(b[8:]), word(b[12:])}
	}
	for i, c := range caches {
		all[[2]uint32{n, uint32(i)}] = [4]uint32{c[0]<<5 | c[1], (c[2]-1)<<22 | (c[3] - 1), c[4] - 1}
	}
	return all
}

// Signatures of CPUID leaf 1: an AMD of family 25 and model 17, an Intel of family 6 and model 63.
const (
	amd   = 10<<20 | 1<<16 | 15<<8 | 1<<4 | 2
	intel = 3<<16 | 6<<8 | 15<<4 | 1
)

// hosts are made up. The second is busy with others, and shows none of the limits that are looked for. The third one may not be
// timed.
var hosts = map[string]func() *madeUp{
	"amd": func() *madeUp {
		return &madeUp{
			cpuid: answers("AuthenticAMD", amd, 0x8000001d, [5]uint32{1, 1, 8, 64, 64}, [5]uint32{1, 2, 4, 64, 128}, [5]uint32{2, 3, 8, 64, 2048}, [5]uint32{3, 3, 16, 64, 32768}),
			tick:  []float64{0.75, 0.74, 0.76}, pages: 72, depth: 31, window: 223, stores: 44, loads: 71, lines: []float64{190, 120},
		}
	},
	"intel": func() *madeUp {
		return &madeUp{
			cpuid: answers("GenuineIntel", intel, 4, [5]uint32{1, 1, 7, 64, 64}, [5]uint32{1, 2, 8, 64, 64}, [5]uint32{2, 3, 16, 64, 1024}),
			tick:  []float64{0.75, 0.75, 0.95},
		}
	},
	"old": func() *madeUp {
		all := answers("GenuineIntel", intel, 4)
		all[[2]uint32{0x80000007, 0}] = [4]uint32{}
		return &madeUp{cpuid: all, tick: []float64{1}}
	},
	"older": func() *madeUp {
		all := answers("GenuineIntel", 15<<8, 4)
		all[[2]uint32{0x80000000, 0}] = [4]uint32{0x80000006}
		return &madeUp{cpuid: all, tick: []float64{1}}
	},
}

// described describes a made-up host on which blocks take what a machine with other numbers prices them at.
func described(t *testing.T, name string, change func(m *madeUp), numbers ...string) (d *Describer, err error) {
	d, s := describer(t, numbers...)
	h := hosts[name]()
	h.simulated, h.log = *s, &strings.Builder{}
	change(h)
	d = &Describer{Host: h, Root: family(t), Read: read, Say: func(format string, args ...any) { fmt.Fprintf(h.log, format+"\n", args...) }}
	synctest.Test(t, func(*testing.T) {
		err = d.Describe("host", time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC))
	})
	return d, err
}

// Descriptions of made-up hosts are held whole: what is asked, in which order, what becomes of the answers, and what stays open.
func TestDescriptions(t *testing.T) {
	all := map[string][]string{
		"amd": {
			"cost.imul.latency=7", "cost.shift.latency=2", "cost.bit_scan.issue=4", "event.store_forward.cycles=5", "cost.lea.latency=1",
			`cost.shift_cl={ uops = 1, latency = 3, port = "alu", source = "IL: 0" }`, "event.mispredict.cycles=17",
		},
		"intel": {"core.width=2", "event.mispredict.cycles=0"},
		"old":   nil,
		"older": nil,
	}
	for _, name := range hosttools.Share(t, "made-up hosts", 2, slices.Sorted(maps.Keys(all))) {
		d, err := described(t, name, func(*madeUp) {}, all[name]...)
		out := d.Host.(*madeUp).log
		wrote := string(doc.Write(d.Root))
		fmt.Fprintf(out, "\nerror: %v\nsum of the description: %s\n", err, sum([]byte(wrote)))
		for line := range strings.Lines(wrote) {
			if strings.Contains(line, "here:") || strings.Contains(line, "here =") {
				out.WriteString(line)
			}
		}
		for _, r := range d.Rows {
			fmt.Fprintf(out, "%s: %s -> %s, explained %.3f, %s\n", r.Key, r.Before, r.Now, r.Explained, r.How())
		}
		fmt.Fprintf(out, "\n%s\n", strings.Join(d.Open, "\n"))
		require.Lines(t, "testdata/"+name+".txt", out.String(), *update)
	}
}

// A host that cannot be timed ends the part of a description that asks it, and one that is busy leaves its numbers open.
func TestEveryPartMayFail(t *testing.T) {
	var out strings.Builder
	for i, part := range (&Describer{}).parts() {
		if part.what == "loads" || part.what == "instructions" { // lists of loops, each as the one before
			continue
		}
		for _, e := range []error{judging.ErrBusy, errors.ErrUnsupported} {
			for _, answered := range []int{0, 1, 4, 12} {
				h := hosts["amd"]()
				d := &Describer{Host: h, Root: family(t), Read: read, id: identity{host: h, vendor: "AuthenticAMD"}}
				h.log, h.pricer = &strings.Builder{}, judging.NewPricer(&require.Must(read(d.Root))(t).CPU)
				d.begin("host", time.Unix(0, 0))
				h.from, h.err = answered+1, e
				synctest.Test(t, func(*testing.T) {
					err := d.parts()[i].do()
					fmt.Fprintf(&out, "%s, %v behind %d answers: %v, %d rows, open %q\n", part.what, e, answered, err, len(d.Rows), d.Open)
				})
			}
		}
	}
	require.Lines(t, "testdata/failing.txt", out.String(), *update)
}

// The family of each processor is held by a list of its models.
func TestFamilies(t *testing.T) {
	var out strings.Builder
	for _, vendor := range []string{"AuthenticAMD", "GenuineIntel"} {
		for _, family := range []uint32{5, 6, 15, 16, 23, 24, 25, 26, 27} {
			last := "-"
			for model := range uint32(256) {
				signature := min(family, 15)<<8 | (max(family, 15)-15)<<20 | model>>4<<16 | model&15<<4
				h := &madeUp{log: &strings.Builder{}, cpuid: answers(vendor, signature, 4)}
				name := require.Must(Family(h))(t)
				if name != last {
					fmt.Fprintf(&out, "%s %d from model %#x on: %q\n", vendor, family, model, name)
				}
				last = name
			}
		}
	}
	require.Lines(t, "testdata/families.txt", out.String(), *update)
}

// TestQueues finds how many stores and loads a core has on their way, and refuses what no description may have.
func TestQueues(t *testing.T) {
	for _, c := range []struct {
		q                     *queue
		stores, loads, shared int
		want                  string
	}{
		{&storeBuffer, 56, 0, 0, "55"},
		{&loadQueue, 0, 72, 0, "73"},
		{&loadQueue, 0, 192, 0, "193"},
		{&storeBuffer, 112, 0, 90, "111"},
		{&storeBuffer, 112, 0, 50, "core.store_buffer: two misses overlap up to 55, 55 and 111 stores apart: another thread of the core takes a part"},
		{&storeBuffer, 0, 0, 0, "core.store_buffer: two misses 200 stores apart still overlap"},
		{&queue{"width", "stores", storeBuffer.code, 1, 200, 0}, 56, 0, 0, "core.width: 55, which the description cannot have"},
	} {
		h := hosts["amd"]()
		h.log, h.stores, h.loads, h.shared = &strings.Builder{}, c.stores, c.loads, c.shared
		d := &Describer{Host: h, Root: family(t), Read: read, id: identity{host: h, vendor: "AuthenticAMD"}}
		d.begin("host", time.Unix(0, 0))
		require.NoError(t, d.room(c.q))
		require.Equal(t, strings.Join(append(d.Open, d.found("core."+c.q.key)...), ""), c.want, "%s of a host with %d and %d", c.q.key, c.stores, c.loads)
	}
}
