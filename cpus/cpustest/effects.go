package cpustest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/host"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// Effects holds what groups of instructions do against sums in testdata/effects.txt. Other tests say what is right, by
// processors and emulators. This one says which group does something else than before: its registers, its memory, or how
// it is decoded.
//
// A second sum has the whole state of its CPUs at the end of a group, times, caches and predictors with it, as snapshots keep it.
type Effects struct {
	out   bytes.Buffer
	sum   hash.Hash
	group string
	last  cpus.CPU
	state hash.Hash
}

// Group begins a group.
func (e *Effects) Group(name string) {
	e.end()
	e.group, e.sum, e.last, e.state = name, sha256.New(), nil, sha256.New()
}

func (e *Effects) end() {
	if e.sum == nil {
		return
	}
	fmt.Fprintf(&e.out, "%s %.4x", e.group, e.sum.Sum(nil))
	if e.last != nil {
		e.Keep(kept(e.last))
	}
	fmt.Fprintf(&e.out, " %.4x\n", e.state.Sum(nil))
}

// kept returns all that a snapshot keeps of a CPU.
func kept(c cpus.CPU) any {
	if k, ok := c.(interface{ State() any }); ok {
		return k.State()
	}
	return c
}

// zeros are fields without a value. They are left out of sums, so that a new field moves those that set it.
var zeros = regexp.MustCompile(`\w+:0\b ?`)

// Add takes how an instruction is decoded, and what it left.
func (e *Effects) Add(c cpus.CPU, m *mmu.Memory, data uint64, decoded ...any) {
	b := append(zeros.ReplaceAll(fmt.Appendf(nil, "%+v", decoded), nil), " ["...)
	for i, r := range c.Registers() { // as %+v prints them, which takes half of the test
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(append(append(b, "{Name:"...), r.Name...), " Value:"...)
		b = append(strconv.AppendUint(b, r.Value, 10), '}')
	}
	e.sum.Write(append(b, "]\n"...))
	e.sum.Write(m.Bytes(data, 0x1000))
	e.Of(c)
}

// Of names the CPU that the group has at its end.
func (e *Effects) Of(c cpus.CPU) { e.last = c }

// Keep takes the state of a CPU into the second sum.
func (e *Effects) Keep(state any) { e.state.Write(appendFields(nil, state)) }

// Note takes another value.
func (e *Effects) Note(value any) {
	e.sum.Write(zeros.ReplaceAll(fmt.Appendf(nil, "%+v", value), nil))
}

// Compare compares the sums with the file, or writes them.
func (e *Effects) Compare(t *testing.T, update bool) {
	t.Helper()
	e.end()
	require.Lines(t, filepath.Join("testdata", "effects.txt"), e.out.String(), update)
}

// Machines takes the registers, memory, times and counters of machines of one to four CPUs with random programs, which run by
// functions alone.
func Machines[C cpus.CPU](t *testing.T, e *Effects, build func(t *testing.T, n int, seed uint64) *Rig[C]) {
	memo, code := host.Memo, host.Code
	defer func() { host.Memo, host.Code = memo, code }()
	functions()
	for seed := range uint64(12) {
		e.Group(fmt.Sprint("machine ", seed))
		x := &disturbed[C]{t: t, d: &disturbances[0], r: build(t, 1+int(seed%4), seed), rng: rand.New(rand.NewPCG(seed, 5))}
		x.begin(seed)
		e.Note(x.run())
		for _, c := range x.r.CPUs {
			e.Keep(kept(c))
		}
	}
}
