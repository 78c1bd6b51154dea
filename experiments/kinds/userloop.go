package kinds

import (
	"errors"

	"kprobesim/image"
	"kprobesim/smp"
)

// What a loop in user mode shares with the simulator, by the names of the guest.
const (
	userWork     = "user_work"   // a structure, and the variable of its kind
	userWorkFn   = "sys_work_fn" // the function that the system call calls
	callEntry    = "syscall_entry"
	userLoopName = "user loop"
)

// userLoop has a user task on this CPU make n system calls that call the target. Its arguments go by
// memory that user mode can read, because a task's function takes one number. Starting and joining
// the task is part of what the calls take, with the probe and without it.
func (s *session) userLoop(target uint64, n int64) (sum uint64, err error) {
	var calls, a0, a1, result image.Field
	if _, err := s.m.Image().Layout(userWork, image.Parts{"n": &calls, "a0": &a0, "a1": &a1, "sum": &result}); err != nil {
		return 0, err
	}
	work, _ := s.m.Image().Symbol(userWork)
	mem := image.Access{Memory: s.m}
	for i, f := range []image.Field{a0, a1} {
		mem.Store(work.Addr, f, s.p.Workload.Args[i])
	}
	mem.Store(work.Addr, calls, uint64(n))
	if err := errors.Join(mem.Err, s.set(userWorkFn, target)); err != nil {
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
	return mem.Load(work.Addr, result), mem.Err
}
