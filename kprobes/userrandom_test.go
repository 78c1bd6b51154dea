package kprobes

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/smp"
)

// TestRandomUserProbes has tasks compute while probes and pages of their text come and go at random: results never change, and in the
// end every copy of the text is as it was. A sum of what was hit and inserted on the way shows what goes another way than before.
func TestRandomUserProbes(t *testing.T) {
	var sums strings.Builder
	all := []int{1, 3}
	if !*update {
		all = hosttools.Share(t, "numbers of CPUs", 2, all)
	}
	for _, cpus := range all {
		eachUser(t, cpus, func(u *users) {
			s := &userStorm{users: u, rng: rand.New(rand.NewPCG(uint64(cpus), 1)), sum: sha256.New(), wants: map[uint64]int32{}}
			s.run()
			fmt.Fprintf(&sums, "%s on %d CPUs: %.6x\n", u.m.Image().Name, cpus, s.sum.Sum(nil))
		})
	}
	if len(all) == 2 {
		require.Lines(t, "testdata/userstorms.txt", sums.String(), *update)
	} else {
		require.Among(t, "testdata/userstorms.txt", sums.String())
	}
}

type userStorm struct {
	*users
	rng    *rand.Rand
	sum    hash.Hash
	wants  map[uint64]int32 // by the argument
	probes []*UserProbe
	tasks  []userTask
	slots  int64               // of the kernel's own probes
	offs   map[string][]uint64 // of the instructions of functions
}

type userTask struct {
	task uint64
	s    *smp.Space
	n    uint64
}

func (s *userStorm) run() {
	s.slots, s.offs = s.k.slots.taken(), map[string][]uint64{"user_mix": s.instructions("user_mix"), "user_leaf": s.instructions("user_leaf")}
	text := s.entry("user_mix")
	was, wrote := value(s.m.ReadBytes(s.linked(text), 64))(s), written(s.m)
	for _, n := range []uint64{20, 300} {
		s.wants[n] = s.runs("user_mixes", n)
	}
	tramp := value(s.k.AddTrampoline(s.Call, s.f))(s)
	s.do(s.k.InsertEverywhere(s.Call, tramp))
	for range 80 {
		s.step()
		for _, counted := range []string{"user_hits", "user_posts", "user_reinserted", "user_returns"} {
			fmt.Fprintln(s.sum, s.word(counted))
		}
		fmt.Fprintln(s.sum, len(s.k.userSites), s.k.slots.taken(), *wrote)
	}
	for len(s.tasks) > 0 {
		s.end()
	}
	s.unprobe(append(s.probes, tramp)...)
	require.Equal(s.t, s.runs("user_mixes", 20), s.wants[20], "without probes: result")
	for _, m := range s.smp.Pages(s.f, text-s.f.Base) {
		require.That(s.t, slices.Equal(value(s.m.ReadBytes(m.Address+text%4096, 64))(s), was), "a copy of the text keeps a breakpoint")
	}
	require.That(s.t, len(s.k.userSites) == 0 && s.k.slots.taken() == s.slots, "%d places and %d slots are left", len(s.k.userSites), s.k.slots.taken()-s.slots)
}

func (s *userStorm) step() {
	text := s.entry("user_mix")
	switch s.rng.IntN(10) {
	case 0, 1:
		if n := []uint64{20, 300}[s.rng.IntN(2)]; len(s.tasks) < 4 {
			task, space := s.start(s.rng.IntN(s.m.CPUs()), "user_mixes", n, true)
			s.tasks = append(s.tasks, userTask{task, space, n})
		}
	case 2:
		s.end()
	case 3, 4, 5:
		s.register()
	case 6:
		if len(s.probes) > 0 {
			i := s.rng.IntN(len(s.probes))
			s.unprobe(s.probes[i])
			s.probes = slices.Delete(s.probes, i, i+1)
		}
	case 7:
		s.do(s.smp.Drop(s.Call, s.f, text-s.f.Base))
	case 8:
		if len(s.tasks) > 0 {
			of := s.tasks[s.rng.IntN(len(s.tasks))].s
			s.do(s.smp.TouchStopped(s.Call, of, text, true))
			s.do(s.smp.PageOut(s.Call, of, text))
			s.do(s.smp.TouchStopped(s.Call, of, text, true)) // a removal does not reach what is in swap
		}
	case 9:
		s.sleep(1)
	}
}

// end waits for a task.
func (s *userStorm) end() {
	if len(s.tasks) > 0 {
		x := s.tasks[0]
		s.tasks = s.tasks[1:]
		require.Equal(s.t, s.exitCode(x.task), s.wants[x.n], "a task with probes returns")
	}
}

// register registers a probe of an instruction, or of a return.
func (s *userStorm) register() {
	fn := []string{"user_mix", "user_leaf"}[s.rng.IntN(2)]
	offs := s.offs[fn]
	spec := UserSpec{File: s.f, Symbol: fn, Offset: offs[s.rng.IntN(len(offs))], Handler: "user_probe_pre"}
	switch s.rng.IntN(4) {
	case 0:
		spec.Post = "user_probe_post"
	case 1:
		spec.Offset, spec.Return, spec.MaxActive, spec.Handler = 0, true, int32(1+s.rng.IntN(3)), "user_probe_return"
	}
	p, err := s.k.AddUser(s.Call, spec)
	if errors.Is(err, EEXIST) {
		return
	}
	s.do(err)
	s.do(s.k.InsertEverywhere(s.Call, p))
	s.probes = append(s.probes, p)
}
