package kinds

import (
	"errors"
	"fmt"

	"kprobesim/smp"
)

// What a loop in user mode shares with the simulator, by the names of the guest.
const (
	userWork     = "user_work"   // a structure, and the variable of its kind
	userWorkFn   = "sys_work_fn" // the function that the system call calls
	callEntry    = "syscall_entry"
	userLoopName = "user loop"
)

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
