package judging

import (
	"context"
	"errors"
	"maps"
	"slices"

	"kprobesim/cpus"
	"kprobesim/internal/native"
)

// Verdict holds the blocks that count, with their times on both sides.
type Verdict struct {
	Blocks  []*Block
	Left    map[string]int // blocks that do not count, by the reason
	MCAName string         // "" where it was not asked
	Cases   []*Case
}

// Judging compares blocks.
type Judging struct {
	Pricer *Pricer
	Host   *Host // nil where the blocks have their times
	MCA    *MCA  // nil for none
	// Progress is told how many blocks count.
	Progress func(done int)
}

// Run takes blocks from next until n count, or next has no more, or the context is done.
func (j *Judging) Run(ctx context.Context, n int, next func() *Block) (*Verdict, error) {
	v := &Verdict{Left: map[string]int{}}
	if j.MCA != nil {
		v.MCAName = j.MCA.Name()
	}
	for len(v.Blocks) < n && ctx.Err() == nil {
		b := next()
		if b == nil {
			break
		}
		if err := j.compare(b); err != nil {
			if !excused(err) {
				return v, err
			}
			v.Left[reason(err)]++
			continue
		}
		v.Blocks = append(v.Blocks, b)
		j.Progress(len(v.Blocks))
	}
	return v, errors.Join(j.again(ctx, v.Blocks), ctx.Err())
}

// again times blocks at other moments. The shortest times of all moments count.
func (j *Judging) again(ctx context.Context, blocks []*Block) error {
	if j.Host == nil || ctx.Err() != nil {
		return nil
	}
	return Moments(ctx, len(blocks), mostMoments, func(i int) (bool, error) {
		b := blocks[i]
		copies := copiesOf(b.Length)
		t, err := j.Host.times(b.Code, b.pages, copies)
		switch {
		case err == nil:
			b.took = b.took.shortest(t)
			before := b.Native
			b.Native = b.took.cycles(copies)
			return b.Native < before/near, nil
		case excused(err):
			err = nil
		}
		return false, err
	})
}

// mostMoments bounds the moments at which blocks are timed behind the first.
const mostMoments = 30

// Moments calls time for each of n things, and again, until a moment makes less than one in a hundred of them shorter, or there were
// so many: what else uses a core leaves it in a state, as of its predictor, that outlasts the passes of a job.
func Moments(ctx context.Context, n, most int, time func(i int) (shorter bool, _ error)) error {
	for range most {
		changed := 0
		for i := range n {
			shorter, err := time(i)
			if err != nil || ctx.Err() != nil {
				return err
			}
			if shorter {
				changed++
			}
		}
		if changed*100 <= n {
			break
		}
	}
	return nil
}

// errForms says that a block has an instruction that blocks here have not.
var errForms = errors.New("it has an instruction that is not judged")

// excuses are the reasons for which a block is left out.
var excuses = []error{errFaults, errPages, errForms, ErrBusy, native.ErrFault, native.ErrForever, native.ErrPage}

func excused(err error) bool { return reason(err) != "" }

// reason is the words of the excuse.
func reason(err error) string {
	i := slices.IndexFunc(excuses, func(e error) bool { return errors.Is(err, e) })
	if i < 0 {
		return ""
	}
	return excuses[i].Error()
}

// compare fills in the times of a block.
func (j *Judging) compare(b *Block) error {
	if b.Class == "" {
		return errForms
	}
	copies := copiesOf(b.Length)
	pages, err := j.Pricer.pages(b.Code, copies)
	if err != nil {
		return err
	}
	if j.Host != nil {
		if b.took, err = j.Host.times(b.Code, pages, copies); err != nil {
			return err
		}
		b.Native = b.took.cycles(copies)
	}
	if b.Priced, err = j.Pricer.cycles(b.Code, pages, copies); err != nil {
		return err
	}
	if j.MCA != nil {
		b.MCA, _ = j.MCA.Cycles(b.Text()) // what it refuses has no answer
	}
	b.pages = pages
	return nil
}

// Summary compares the blocks of a class, or all for "".
func (v *Verdict) Summary(class string) Summary {
	var pairs []pair
	for _, b := range v.Blocks {
		if class == "" || b.Class == class {
			pairs = append(pairs, pair{b.Native, b.Priced})
		}
	}
	return summarize(pairs)
}

// Beside compares llvm-mca on the blocks that it takes, and the description on the same blocks.
func (v *Verdict) Beside() (mca, here Summary) {
	var theirs, ours []pair
	for _, b := range v.Blocks {
		if b.MCA > 0 {
			theirs, ours = append(theirs, pair{b.Native, b.MCA}), append(ours, pair{b.Native, b.Priced})
		}
	}
	return summarize(theirs), summarize(ours)
}

// Worst returns the n blocks of the greatest errors.
func (v *Verdict) Worst(n int) []*Block {
	all := slices.Clone(v.Blocks)
	slices.SortStableFunc(all, func(a, b *Block) int {
		x, y := pair{a.Native, a.Priced}.error(), pair{b.Native, b.Priced}.error()
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return all[:min(n, len(all))]
}

// Bound names the part of the description without whose limit a block's price falls most.
func (p *Pricer) Bound(b *Block) string {
	best, name := b.Priced*0.98, "several parts at once"
	for _, r := range relaxations(p.cfg) {
		c := *p.cfg
		c.Classes, c.Events, c.Ports, c.Pipes = maps.Clone(c.Classes), maps.Clone(c.Events), maps.Clone(c.Ports), maps.Clone(c.Pipes)
		r.relax(&c)
		if v, err := NewPricer(&c).cycles(b.Code, b.pages, copiesOf(b.Length)); err == nil && v < best {
			best, name = v, r.name
		}
	}
	return name
}

// relaxation takes away a limit.
type relaxation struct {
	name  string
	relax func(c *cpus.Config)
}

// relaxations are the limits of a description.
func relaxations(c *cpus.Config) []relaxation {
	event := func(names ...string) func(*cpus.Config) {
		return func(c *cpus.Config) {
			for _, n := range names {
				c.Events[n] = 0
			}
		}
	}
	all := []relaxation{
		{"front end (fetch and decode)", func(c *cpus.Config) {
			c.FrontEnd.FetchBytes, c.FrontEnd.ComplexFirst, c.FrontEnd.Decoders, c.OpCache = 0, false, 0, cpus.OpCache{}
		}},
		{"store forwarding", event("store_forward", "modify_forward", "stack_forward", "store_commit")},
		{"load latency", event("load_use")},
		{"mispredicted branches", event("mispredict")},
		{"taken branches", event("taken_branch")},
		{"split lines", event("split_line")},
		{"window", func(c *cpus.Config) { c.Window = cpus.MaxWindow }},
		{"store buffer", func(c *cpus.Config) { c.StoreBuffer, c.BackEnd.StoreQueue = 1024, false }},
		{"misses on their way", func(c *cpus.Config) { c.BackEnd.MissBuffers = 0 }},
		{"latencies of instructions", func(c *cpus.Config) {
			each(c, func(k *cpus.Cost) { k.Latency, k.Latency2, k.Deferred, k.Flags, k.LateFlags = 0, 0, 0, 0, 0 })
		}},
		{"issue slots", func(c *cpus.Config) {
			each(c, func(k *cpus.Cost) { k.Issue, k.Slots = 1, 1 })
			if c.BackEnd.On {
				c.Width, c.BackEnd.Retire = cpus.MaxWidth, 0
			}
		}},
		{"stores to other lines", func(c *cpus.Config) { c.BackEnd.StorePairs = false }},
		{"units", func(c *cpus.Config) { each(c, func(k *cpus.Cost) { k.Occupancy = 0; k.Unit = "" }) }},
	}
	for _, n := range slices.Sorted(maps.Keys(c.Ports)) {
		all = append(all, relaxation{"port " + n, func(c *cpus.Config) { c.Ports[n] = 1 }})
	}
	for _, n := range slices.Sorted(maps.Keys(c.Pipes)) {
		all = append(all, relaxation{"port " + n, func(c *cpus.Config) { delete(c.Pipes, n) }})
	}
	return all
}

// each changes all classes.
func each(c *cpus.Config, change func(k *cpus.Cost)) {
	for n, k := range c.Classes {
		change(&k)
		c.Classes[n] = k
	}
}
