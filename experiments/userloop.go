package experiments

import (
	"errors"
	"fmt"

	"kprobesim/cpus"
	"kprobesim/smp"
)

// What a loop in user mode shares with the simulator, by the names of the guest.
const (
	userWork     = "user_work"   // a structure, and the variable of its kind
	userWorkFn   = "sys_work_fn" // the function that the system call calls
	callEntry    = "system_call"
	userLoopName = "user loop"
)

// inUser tells a loop that runs in user mode and has the kernel call the target.
func (p *Point) inUser() bool { return p.userCode(p.Workload.Loop) }

// userCode tells a function that runs in user mode.
func (p *Point) userCode(name string) bool {
	s, ok := p.Image.Symbol(name)
	return ok && p.Image.Phase(s.Addr) == userPhase
}

// userLoop has a user task on this CPU make n system calls that call the target.
func (s *session) userLoop(target uint64, n int64) (sum uint64, err error) {
	st, err := s.m.Image().Struct(userWork)
	if err != nil {
		return 0, err
	}
	work, ok := s.m.Image().Symbol(userWork)
	if !ok {
		return 0, fmt.Errorf("image %s has no variable %s for loops in user mode", s.m.Image().Name, userWork)
	}
	args := append(append([]uint64{uint64(n)}, s.p.Workload.Args...), 0, 0)
	for i, name := range []string{"n", "a0", "a1"} {
		f, ferr := st.Field(name)
		err = errors.Join(err, ferr, s.m.Store(work.Addr+uint64(f.Offset), int(f.Size), args[i]))
	}
	result, ferr := st.Field("sum")
	if err = errors.Join(err, ferr, s.set(userWorkFn, target)); err != nil {
		return 0, err
	}
	task, err := s.k.SpawnUser(s.call, smp.Thread{
		Name: userLoopName, CPU: s.call.CPU(), Bound: true, Fn: s.p.Workload.Loop, Arg: work.Addr,
	})
	if err != nil {
		return 0, err
	}
	if err := s.k.Join(s.call, task); err != nil {
		return 0, err
	}
	return s.m.Load(work.Addr+uint64(result.Offset), int(result.Size))
}

// userFilter is callFilter for a loop in user mode: a call begins with the instruction there that calls the
// kernel, and ends with the one behind it.
type userFilter struct {
	to     cpus.Observer
	entry  uint64
	skip   int64
	inside bool
	last   cpus.Step // in user mode
}

// wanted is what is left to skip in the call that is shown. Behind it comes the one that ends the task.
const wanted = -1

// Step implements cpus.Observer.
func (f *userFilter) Step(s *cpus.Step) {
	if s.PC == f.entry && !f.inside {
		f.inside = true
		if f.skip--; f.skip == wanted {
			f.to.Step(&f.last)
		}
	}
	if f.inside && f.skip == wanted {
		f.to.Step(s)
	}
	if s.User {
		f.inside = false
		f.last = *s
	}
}
