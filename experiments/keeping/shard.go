package keeping

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strconv"

	"kprobesim/experiments/schema"
)

// Shard is one of N parts of the work, counted from 1. The zero value is the whole.
type Shard struct{ I, N int }

// mostShards is more than an array of jobs may have tasks.
const mostShards = 1 << 20

// ParseShard reads I/N.
func ParseShard(text string) (s Shard, err error) {
	m := regexp.MustCompile(`^(\d{1,8})/(\d{1,8})$`).FindStringSubmatch(text)
	if m != nil {
		s.I, _ = strconv.Atoi(m[1]) // eight digits are a number
		s.N, _ = strconv.Atoi(m[2])
	}
	if s.I < 1 || s.I > s.N || s.N > mostShards {
		return Shard{}, fmt.Errorf("%q is no shard: want I/N, such as 3/40, with I from 1 to N and N up to %d", text, mostShards)
	}
	return s, nil
}

// String writes a shard as ParseShard reads it.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.I, s.N) }

// Whole reports whether it is all of the work.
func (s Shard) Whole() bool { return s.N == 0 }

// Load is a piece of work with its predicted cost. The cost must follow from the piece and the program alone, or two hosts
// would part the work otherwise.
type Load struct {
	Key  Key
	Cost int64
}

// Part lists the numbers of the pieces that belong to the shard. Pieces go by their hashes, and are cut where their costs add
// up to equal sums, so shards take about the same time and neighbours of a sweep are in different ones.
func (s Shard) Part(pieces []Load) (mine []int) {
	order, total := make([]int, len(pieces)), int64(0)
	for i, p := range pieces {
		order[i], total = i, total+max(1, p.Cost)
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(bytes.Compare(pieces[a].Key[:], pieces[b].Key[:]), a-b)
	})
	before := int64(0)
	for _, i := range order {
		cost := max(1, pieces[i].Cost)
		hi, lo := bits.Mul64(uint64(2*before+cost), uint64(s.N)) // the shard in which the middle of the piece lies
		if n, _ := bits.Div64(hi, lo, uint64(2*total)); s.Whole() || int(n)+1 == s.I {
			mine = append(mine, i)
		}
		before += cost
	}
	slices.Sort(mine)
	return mine
}

// manyCombinations is the number of combinations of a sweep for each shard from which on they are dealt out by number. Their
// costs then differ less between shards than from the prediction, and a shard need not plan the combinations of others.
const manyCombinations = 32

// Combinations lists the combinations of a large sweep that belong to the shard, by the hashes of their texts, and returns nil
// for a smaller one.
func (s Shard) Combinations(texts []string) []int {
	if s.Whole() || len(texts)/s.N < manyCombinations {
		return nil
	}
	pieces := make([]Load, len(texts))
	for i, text := range texts {
		pieces[i].Key = sha256.Sum256([]byte(text))
	}
	return s.Part(pieces)
}

// Part returns a plan with the points that belong to a shard.
func (s *Store) Part(shard Shard, p *schema.Plan) *schema.Plan {
	if p.Parted {
		return p
	}
	pieces, costs := make([]Load, len(p.Points)), Shipped()
	for i := range p.Points {
		pieces[i] = Load{s.keys.Of(&p.Points[i]), int64(costs.Expect(&p.Points[i]))}
	}
	part := *p
	part.Points = nil
	for _, i := range shard.Part(pieces) {
		part.Points = append(part.Points, p.Points[i])
	}
	return &part
}
