package describing

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"kprobesim/internal/clock"
	"kprobesim/internal/doc"
	"kprobesim/internal/native"
	"kprobesim/judging"
)

// clock measures the frequency of the core while it works.
func (d *Describer) clock() error {
	least, most, counter, err := judging.Clock(d.Host)
	if err != nil {
		return d.open("clock.frequency", err)
	}
	if most > 1.05*least {
		d.Open = append(d.Open, fmt.Sprintf("clock.frequency: the core changed between %.2f and %.2f GHz: it is throttled, or another guest uses it", least/1e9, most/1e9))
	}
	mhz := math.Round(most/1e7) * 10
	d.measured(text(fmt.Sprintf("%.0f MHz", mhz)), fmt.Sprintf("additions against the time-stamp counter of %.0f MHz", counter/1e6), "clock", "frequency")
	return nil
}

// width takes the shortest time of instructions that take no unit.
func (d *Describer) width() error {
	best, of := math.Inf(1), ""
	for _, l := range loops() {
		if l.What != "rate" || l.Key != "cost.mov" && l.Key != "cost.zero_idiom" && l.Key != "cost.alu" {
			continue
		}
		code := judging.Hex(l.Code)
		v, err := d.shortest(func() (float64, error) { return d.Host.Cycles(code, nil) })
		if err != nil {
			return d.open("core.width", err)
		}
		if v /= float64(len(bytes.Split([]byte(l.Text), []byte(";")))); v < best {
			best, of = v, l.Text
		}
	}
	n := int(math.Round(1 / best))
	return d.ofCore("width", n, fmt.Sprintf("%s: %d a cycle", of, n))
}

// ofCore sets a measured number of the core, if a description can have it.
func (d *Describer) ofCore(key string, n int, how string) error {
	before := d.Root.Clone()
	d.set(integer(n), "core", key)
	_, err := d.Read(d.Root)
	if d.Root = before; err != nil {
		return d.open(fmt.Sprintf("core.%s: %d, which the description cannot have", key, n), nil)
	}
	d.measured(integer(n), how, "core", key)
	return nil
}

func integer(n int) *doc.Node { return &doc.Node{Kind: doc.Integer, Text: fmt.Sprint(n)} }

// Places of chains on the host.
const (
	chainAt  = 0x1_0000_0000
	chainTwo = 0x1_8000_0000
)

const rax, rsi, rdi = 0, 6, 7

// queue is a structure of a core that instructions of one sort fill.
type queue struct {
	key, what string // the key of core, and the sort
	code      []byte
	n         int // instructions of code
	most      int // as many fill none
	own       int // places that the two loads between which they stand take
}

// Queues of a core. A third of the instructions that fill its window writes a register, a third flags, a third a vector, so that no sort
// of register runs out first: mov $1,%eax; cmp %ebx,%ecx; pand %xmm1,%xmm2.
var (
	windowOfCore = queue{"window", "instructions", []byte{0xb8, 1, 0, 0, 0, 0x39, 0xd9, 0x66, 0x0f, 0xdb, 0xd1}, 3, 600, 1}
	storeBuffer  = queue{"store_buffer", "stores", judging.SavePointer(rax, spare), 1, 200, 0}
	loadQueue    = queue{"load_queue", "loads", judging.LoadPointer(rax, spare), 1, 400, 2}
)

// spare is a word that no chain begins in.
const spare = 3

// window measures how many instructions, and stores and loads among them, a core has on their way. A load queue is measured where the family has one.
func (d *Describer) window() error {
	all := []queue{windowOfCore, storeBuffer}
	if d.node("core", loadQueue.key) != nil {
		all = append(all, loadQueue)
	}
	for _, q := range all {
		if err := d.room(&q); err != nil {
			return err
		}
	}
	return nil
}

// room finds how many instructions may stand between two loads that miss all caches, so that the second one still starts
// before the first has ended (H. Wong, Measuring reorder buffer capacity, 2013). The first one holds up all that follow it. A second
// thread of the core takes a part while it runs, so the largest of three answers counts, and another one has to be near.
func (d *Describer) room(q *queue) error {
	key, answers := "core."+q.key, make([]int, 3)
	for i := range answers {
		n, err := d.once(q)
		if err != nil {
			return d.open(key, err)
		}
		if n == 0 {
			return d.open(fmt.Sprintf("%s: two misses %d %s apart still overlap", key, q.most, q.what), nil)
		}
		answers[i] = n
	}
	slices.Sort(answers)
	low := answers[2]
	if 16*answers[1] < 15*low {
		return d.open(fmt.Sprintf("%s: two misses overlap up to %d, %d and %d %s apart: another thread of the core takes a part", key, answers[0], answers[1], low, q.what), nil)
	}
	return d.ofCore(q.key, low+q.own, fmt.Sprintf("two misses overlap up to %d %s apart", low, q.what))
}

// once is one answer of room; 0 where any number of instructions may stand there.
func (d *Describer) once(q *queue) (int, error) {
	coarse := 8 * q.n
	low, high, err := d.parted(q, coarse, q.most, coarse)
	if err == nil && high > low {
		low, high, err = d.parted(q, max(low-coarse, q.n), high+coarse, q.n)
	}
	if high == low {
		return 0, err
	}
	return low, err
}

// parted returns the two numbers of instructions that the times of two misses jump between, or the same twice.
func (d *Describer) parted(q *queue, from, to, step int) (low, high int, err error) {
	var times []float64
	for n := from; n <= to; n += step {
		t, err := d.twoMisses(bytes.Repeat(q.code, n/q.n))
		if err != nil {
			return 0, 0, err
		}
		times = append(times, t)
	}
	at := parts(times)
	if mean(times[at:]) < 1.3*mean(times[:at]) {
		return from, from, nil
	}
	return from + (at-1)*step, from + at*step, nil
}

// parts returns where numbers jump: both parts spread least around their means.
func parts(v []float64) (at int) {
	best := math.Inf(1)
	for i := 1; i < len(v); i++ {
		if s := spread(v[:i]) + spread(v[i:]); s < best {
			best, at = s, i
		}
	}
	return at
}

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}

// spread is the sum of squares around the mean.
func spread(v []float64) (s float64) {
	m := mean(v)
	for _, x := range v {
		s += (x - m) * (x - m)
	}
	return s
}

// twoMisses times a repetition of two misses with code behind each.
func (d *Describer) twoMisses(between []byte) (float64, error) {
	const copies, times = 10, 200
	body := append(append([]byte{0x48, 0x8b, 0x3f}, between...), 0x48, 0x8b, 0x36) // mov (%rdi),%rdi; mov (%rsi),%rsi
	l := judging.Loop{
		Before: append(judging.LoadPointer(rdi, 0), judging.LoadPointer(rsi, 1)...), Body: append(body, between...), Copies: copies, Times: times,
		After: append(judging.SavePointer(rdi, 0), judging.SavePointer(rsi, 1)...),
	}
	chain := native.Chain{At: chainAt, Size: 64 << 20, Step: 256, Large: true}
	other := chain
	other.At = chainTwo
	v, err := d.Host.Shortest(l.Native(), &native.Job{Chains: []native.Chain{chain, other}, Passes: 5, Repeats: 1}, 2)
	return v / (copies * times), err
}

// branches measures wrong predictions and the return stack.
func (d *Describer) branches() error {
	if err := d.misprediction(); err != nil {
		return err
	}
	return d.returnStack()
}

// misprediction times a branch on random bits beside one that never changes, and prices both: what the difference of the host's times is longer
// than that of the prices is due to wrong predictions, of which there is one in two random branches. How much of one other work hides is
// the same on both sides.
func (d *Describer) misprediction() error {
	// imul $0x5851f42d,%rax,%rax; add $0x3039,%rax: a linear congruential generator, whose state goes on from run to run
	step := slices.Concat(judging.LoadPointer(rax, 2), judging.Hex("4869c02df45158480539300000"), judging.SavePointer(rax, 2))
	branch := func(register byte) []byte { // bt $40; jc over nop
		return append(slices.Clone(step), 0x48, 0x0f, 0xba, 0xe0|register, 40, 0x72, 1, 0x90)
	}
	longer := func(of func(code []byte, pages []uint64) (float64, error)) (float64, error) {
		random, err := of(branch(rax), nil)
		if err != nil {
			return 0, err
		}
		steady, err := of(branch(rdi), nil)
		return random - steady, err
	}
	want, err := longer(d.time)
	if err != nil {
		return d.open("event.mispredict", err)
	}
	if want < 1 {
		return d.open("event.mispredict: random branches take no longer than steady ones", nil)
	}
	m, err := d.Read(d.Root)
	if err != nil {
		return err
	}
	before, v := d.Root.Clone(), float64(m.CPU.Events["mispredict"])/float64(clock.PerCycle)
	for range 4 { // the first step is nearly all of it
		priced, err := longer(d.price)
		if err != nil {
			return err
		}
		v = max(1, math.Round(v+2*(want-priced)))
		d.set(number(v), "event", "mispredict", "cycles")
	}
	d.Root = before
	d.measured(number(v), fmt.Sprintf("a branch on random bits takes %.1f cycles more than a steady one", want), "event", "mispredict", "cycles")
	return nil
}

// returnStack finds the depth of calls behind which returns are mispredicted: where what a call more takes becomes longer by most.
func (d *Describer) returnStack() error {
	const apart, deepest = 4, 80
	last, longer := 0.0, []float64(nil)
	for n := apart; n <= deepest; n += apart {
		v, err := d.nested(n)
		if err != nil {
			return d.open("predictor.return_stack", err)
		}
		if n > apart {
			longer = append(longer, v-last)
		}
		last = v
	}
	at := parts(longer)
	if mean(longer[at:]) < mean(longer[:at])+5*apart {
		return d.open(fmt.Sprintf("predictor.return_stack: no depth up to %d is mispredicted", deepest), nil)
	}
	n := apart * (at + 1)
	d.measured(integer(n), fmt.Sprintf("calls %d deep return without a wrong prediction", n), "predictor", "return_stack")
	return nil
}

// nested times calls n deep and their returns. There are few copies, because a predictor has room for few branches.
func (d *Describer) nested(n int) (v float64, err error) {
	const times = 2000
	program := func(copies int) []byte {
		l := judging.Nested(n, 6, copies, times)
		return l.Native()
	}
	return d.shortest(func() (float64, error) {
		return d.Host.Difference(program(4), program(2), 2*times, &native.Job{Pages: []uint64{judging.StackPage}, Passes: 7, Repeats: 2})
	})
}
