package main

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"kprobesim/distro"
	"kprobesim/distro/probing"
	"kprobesim/experiments/keeping"
	"kprobesim/results/outdir"
)

// perRound is how many places a distribution's kernel is asked for at once: a boot costs as much as some hundred places.
const perRound = 2000

// reply holds the answer of a kernel about a place, and whether the rules say the same.
type reply struct {
	probing.Answer
	asked, agrees bool
}

// inquiry asks a distribution's kernel for places, in rounds. Each round is a boot.
type inquiry struct {
	boot    func(sites []uint64) ([]probing.Answer, error)
	judge   func(at uint64) probing.Verdict
	say     func(format string, more ...any)
	sites   []uint64
	rounds  int
	kept    *journal // nil for none
	replies []reply  // to the sites

	// piece, if set, gives the answers of a round: kept ones, or what ask brings. A shard has its rounds alone.
	piece func(round int, ask func() ([]probing.Answer, error)) ([]probing.Answer, error)
	mine  func(round int) bool

	mu            sync.Mutex
	asked, differ int // places
	err           error
}

// ask asks a distribution's kernel for places, but for those that the file of --answers has.
func (a *app) ask(o *explainOptions, c distro.Config, k *probing.Kernel, sites []uint64) (*inquiry, error) {
	q := &inquiry{
		boot:  func(sites []uint64) ([]probing.Answer, error) { return o.askAt(c, sites) },
		judge: k.At, sites: sites, replies: make([]reply, len(sites)), rounds: (len(sites) + perRound - 1) / perRound,
		say: func(format string, more ...any) { fmt.Fprintf(a.err, format+"\n", more...) },
	}
	mark, err := c.Fingerprint()
	if err != nil {
		return nil, err
	}
	key := fmt.Appendf(nil, "%x %q ", mark, c.Command)
	for _, at := range sites {
		key = binary.LittleEndian.AppendUint64(key, at)
	}
	hash := outdir.Hash(key)
	if o.answers != "" {
		q.kept = &journal{file: o.answers, Key: hash, Rounds: q.rounds}
	}
	if o.sharing.kept() {
		if err := q.share(o.sharing, hash); err != nil {
			return nil, err
		}
	}
	return q, q.run(o.rounds, hostWorkers(o.workers))
}

// share has the answers kept for a merge, and a shard ask in its rounds alone.
func (q *inquiry) share(s *sharing, asked string) error {
	store, err := s.open(false, s.cmd.Flags().Args(), []outdir.Input{{Kind: "kernel and places", Name: "asked", Hash: asked}})
	if err != nil {
		return err
	}
	rounds, mine := make([]keeping.Load, q.rounds), map[int]bool{}
	for i := range rounds {
		rounds[i] = keeping.Load{Key: store.Key("answers %s %d of %d", asked, i, q.rounds), Cost: 1}
	}
	for _, i := range s.shard.Part(rounds) {
		mine[i] = true
	}
	q.mine = func(round int) bool { return mine[round] }
	q.piece = func(round int, ask func() ([]probing.Answer, error)) ([]probing.Answer, error) {
		return keeping.Piece(store, rounds[round].Key, ask)
	}
	return nil
}

// askAt boots the kernel with the program that asks for a trace event at each place.
func (o *explainOptions) askAt(c distro.Config, sites []uint64) ([]probing.Answer, error) {
	first, err := distro.Ask(c.Kernel)
	if err != nil {
		return nil, err
	}
	c.Initrd = distro.Initrd([]distro.File{first, {Name: "sites", Mode: distro.ModeFile, Data: probing.Orders(sites)}})
	m, err := o.boot.run(c, distro.Stop{Text: probing.AskDone})
	if err != nil {
		return nil, err
	}
	return probing.Answers(m.Console(), sites)
}

// run asks in at most so many rounds that were not kept, 0 for all, with so many machines at the same time.
func (q *inquiry) run(most, workers int) error {
	left, err := q.left()
	if err != nil {
		return err
	}
	if q.piece == nil {
		q.piece = func(_ int, ask func() ([]probing.Answer, error)) ([]probing.Answer, error) { return ask() }
	}
	if most > 0 && most < len(left) {
		left = left[:most]
	}
	if q.mine != nil {
		left = slices.DeleteFunc(left, func(round int) bool { return !q.mine(round) })
	}
	start, done, next := time.Now(), 0, make(chan int)
	var all sync.WaitGroup
	for range min(workers, len(left)) {
		all.Go(func() {
			for round := range next {
				if q.failed() {
					continue
				}
				ask := func() ([]probing.Answer, error) { return q.boot(q.round(round)) }
				answers, err := q.piece(round, ask)
				runtime.GC() // the machine is the most of what is in memory
				q.mu.Lock()
				done++
				q.end(round, answers, err)
				q.progress(time.Since(start) / time.Duration(done) * time.Duration(len(left)-done))
				q.mu.Unlock()
			}
		})
	}
	for _, round := range left {
		next <- round
	}
	close(next)
	all.Wait()
	return q.err
}

// failed reports whether a round has failed.
func (q *inquiry) failed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err != nil
}

// left lists the rounds that were not kept. The answers of the others are noted.
func (q *inquiry) left() (out []int, err error) {
	kept, err := q.kept.open()
	if err != nil {
		return nil, err
	}
	for round := range q.rounds {
		answers, ok := kept[round]
		switch {
		case !ok:
			out = append(out, round)
		case len(answers) != len(q.round(round)):
			return nil, fmt.Errorf("%s: round %d has %d answers to %d places: remove the file, and ask again", q.kept.file, round, len(answers), len(q.round(round)))
		default:
			q.note(round, answers)
		}
	}
	if len(kept) > 0 {
		q.say("%s has the answers of %d of %d rounds", q.kept.file, len(kept), q.rounds)
	}
	return out, nil
}

// round lists the places of a round. Neighbours are in different rounds, so that each round is an even sample of all places,
// and probes do not stand in each other's way.
func (q *inquiry) round(n int) (out []uint64) {
	for i := n; i < len(q.sites); i += q.rounds {
		out = append(out, q.sites[i])
	}
	return out
}

// end notes and keeps what a round has brought.
func (q *inquiry) end(round int, answers []probing.Answer, err error) {
	if err == nil {
		q.note(round, answers)
		err = q.kept.add(round, answers)
	}
	if err != nil && q.err == nil {
		q.err = fmt.Errorf("round %d of %d: %w", round+1, q.rounds, err)
	}
}

// note holds the answers of a round against the rules, which know that these probes stood at the same time.
func (q *inquiry) note(round int, answers []probing.Answer) {
	verdicts := make([]probing.Verdict, len(answers))
	for i, at := range q.round(round) {
		verdicts[i] = q.judge(at)
	}
	for i, v := range probing.Together(verdicts) {
		r := reply{answers[i], true, answers[i].Agrees(v)}
		q.replies[round+i*q.rounds] = r
		q.asked++
		if !r.agrees {
			q.differ++
		}
	}
}

// progress tells how far it is.
func (q *inquiry) progress(left time.Duration) {
	text := fmt.Sprintf("the kernel answered for %d of %d places", q.asked, len(q.sites))
	if q.differ > 0 {
		text += fmt.Sprintf(", and for %d otherwise than the rules", q.differ)
	}
	if left > 0 {
		text += fmt.Sprintf("; about %s left", left.Round(time.Second))
	}
	q.say("%s", text)
}
