package describing

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"kprobesim/internal/doc"
	"kprobesim/judging"
)

// fused is an operation that may be one with a branch behind it: of EAX 32 bits wide and positive, of ECX which is 0, or of (%rdi).
type fused struct {
	name, text, code string
	even             bool // the lowest byte of its result has an even number of bits
}

// fusible lists the operations, as descriptions name them.
var fusible = []fused{
	{"cmp", "cmp %ecx,%esi", "39ce", false},
	{"test", "test %esi,%esi", "85f6", false},
	{"and", "and %esi,%esi", "21f6", false},
	{"or", "or %esi,%esi", "09f6", false},
	{"xor", "xor %ecx,%esi", "31ce", false},
	{"add", "add %ecx,%esi", "01ce", false},
	{"sub", "sub %ecx,%esi", "29ce", false},
	{"inc", "inc %esi", "ffc6", true},
	{"dec", "dec %esi", "ffce", true},
}

// withImmediate is a comparison of memory with an immediate.
var withImmediate = fused{"immediate", "cmpl $5,(%rdi)", "833f05", false}

// conditions are jumps over nothing that are not taken behind a positive number, but that on parity where a result is even.
var conditions = []struct {
	name   string
	opcode byte
}{{"o", 0x70}, {"b", 0x72}, {"e", 0x74}, {"be", 0x76}, {"s", 0x78}, {"p", 0x7a}, {"l", 0x7c}, {"le", 0x7e}}

// pair is an operation with a branch, and what both take with the instructions beside them.
type pair struct {
	fused
	condition string
	code      []byte
	pages     []uint64
	took      float64
}

// pairs lists all operations with all conditions, and finds the pages that they touch.
func (d *Describer) pairs() (all []*pair, err error) {
	m, err := d.Read(d.Root)
	if err != nil {
		return nil, err
	}
	pricer := judging.NewPricer(&m.CPU)
	for _, op := range append(slices.Clone(fusible), withImmediate) {
		for _, c := range conditions {
			opcode := c.opcode
			if c.name == "p" && op.even {
				opcode++
			}
			p := &pair{fused: op, condition: c.name, code: append(judging.Hex(beside+op.code), opcode, 0), took: math.Inf(1)}
			if p.pages, err = pricer.Pages(p.code); err != nil {
				return nil, err
			}
			all = append(all, p)
		}
	}
	return all, nil
}

// fusions finds the operations that are one with a branch. Beside them stand four instructions that take a slot of issue each and nothing else
// that lasts, so a branch which takes one of its own makes the copy longer: times are of two sorts.
func (d *Describer) fusions() error {
	if d.node("fusion") == nil {
		return nil
	}
	all, err := d.pairs()
	if err != nil {
		return err
	}
	err = judging.Moments(context.Background(), len(all), pairMoments, func(i int) (bool, error) { return d.timePair(all[i]) })
	if err != nil {
		return err
	}
	var sorted []float64
	for _, p := range all {
		if math.IsInf(p.took, 1) {
			return d.open(fmt.Sprintf("fusion (%s; j%s)", p.text, p.condition), judging.ErrBusy)
		}
		sorted = append(sorted, p.took)
	}
	slices.Sort(sorted)
	at := parts(sorted)
	one, two := mean(sorted[:at]), mean(sorted[at:])
	if two < slots*one {
		return d.open(fmt.Sprintf("fusion: all pairs take %.2f to %.2f cycles", sorted[0], sorted[len(sorted)-1]), nil)
	}
	for pairs := range slices.Chunk(all, len(conditions)) {
		d.fuses(pairs, sorted[at])
	}
	return nil
}

// slots is how much longer a copy is at least with a slot of issue more, of five before. pairMoments is how often all pairs are timed at
// most.
const slots, pairMoments = 1.1, 3

// timePair times a pair at a moment, and says whether that made it shorter, or found the host busy.
func (d *Describer) timePair(p *pair) (bool, error) {
	v, err := d.time(p.code, p.pages)
	if errors.Is(err, judging.ErrBusy) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	before := p.took
	p.took = min(p.took, v)
	return v < before/shorter, nil
}

// beside is xor %ecx,%ecx; xor %edx,%edx; xor %ebx,%ebx; mov %r9d,%esi.
const beside = "31c931d231db4489ce"

// fuses describes one operation: the pairs that take less than so many cycles are one.
func (d *Describer) fuses(pairs []*pair, unfused float64) {
	op := pairs[0].fused
	var list []*doc.Node
	var took [2][]float64
	for _, p := range pairs {
		if p.took < unfused {
			list, took[0] = append(list, text(p.condition)), append(took[0], p.took)
		} else {
			took[1] = append(took[1], p.took)
		}
	}
	now := &doc.Node{Kind: doc.Array, Items: list}
	if op.name == withImmediate.name {
		now = &doc.Node{Kind: doc.Bool, Text: "true"}
	}
	before := words(d.node("fusion", op.name))
	if remove(d.node("fusion"), op.name); len(list) > 0 {
		d.set(now, "fusion", op.name)
	}
	how := fmt.Sprintf("%s; jcc: %s", op.text, cycles(took))
	d.source(how, "fusion")
	d.Rows = append(d.Rows, Row{Key: "fusion." + op.name, Loop: how, Before: before, Now: words(d.node("fusion", op.name))})
}

// cycles is the means of the times of pairs that are one, and of those that are two.
func cycles(took [2][]float64) string {
	var all []string
	for i, what := range []string{"%d conditions %.2f cycles", "%d conditions %.2f"} {
		if n := len(took[i]); n > 0 {
			all = append(all, fmt.Sprintf(what, n, mean(took[i])))
		}
	}
	return strings.Join(all, ", ")
}

// words is a value or a list as text.
func words(n *doc.Node) string {
	if n == nil {
		return "-"
	}
	if n.Kind != doc.Array {
		return n.Text
	}
	var all []string
	for _, x := range n.Items {
		all = append(all, x.Text)
	}
	return strings.Join(all, " ")
}
