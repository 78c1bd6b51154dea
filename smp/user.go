package smp

import (
	"fmt"

	"kprobesim/image"
)

// userGuest holds what the services know of user mode.
type userGuest struct {
	ready  bool        // every CPU has been let into the kernel by system calls
	stacks []uint64    // addresses of user stacks that no task has, the next one last
	known  bool        // stacks have been looked for
	shared bool        // a task without an address space has run
	fn     image.Field // of struct user_start
	arg    image.Field
	size   uint64
	stack  uint64 // bytes of a stack
}

// SpawnUser starts a task in user mode: Fn is a function there. Its result is the task's exit code. All user
// tasks share the pages that the image has for user mode.
func (k *Kernel) SpawnUser(c Caller, s Thread) (uint64, error) {
	fn, ok := k.l.symbol(s.Fn)
	if !ok {
		return 0, fmt.Errorf("user task %s: the image has no function %s", s.Name, s.Fn)
	}
	body, ok := k.l.symbol("user_thread")
	if !ok {
		return 0, fmt.Errorf("user task %s: the image has no user mode", s.Name)
	}
	if err := k.prepareUser(c); err != nil {
		return 0, fmt.Errorf("user task %s: %w", s.Name, err)
	}
	if k.spaces.numbers > 0 {
		return 0, fmt.Errorf("user task %s: tasks with address spaces have run on this machine: use either kind", s.Name)
	}
	k.user.shared = true
	stack, err := k.userStack()
	if err != nil {
		return 0, fmt.Errorf("user task %s: %w", s.Name, err)
	}
	u := &k.user
	start := stack + u.stack - (u.size+15)&^15 - k.opt.Layout.Stack
	k.mem.Store(start, u.fn, fn)
	k.mem.Store(start, u.arg, s.Arg)
	addr, err := k.create(c, s, body, start, k.userMM())
	if err != nil {
		u.stacks = append(u.stacks, stack)
		return 0, err
	}
	k.tasks[addr].userStack = stack
	return addr, nil
}

// userMM is the target of the member mm of user tasks, of which there is one: they share their memory. In a kernel
// with several address spaces it is NULL for those that have none of their own.
func (k *Kernel) userMM() uint64 {
	if _, several := k.im.Symbol("load_space"); several {
		return 0
	}
	s, _ := k.im.Symbol("user_mm")
	return s.Addr
}

// prepareUser lets user mode into the kernel, on every CPU, when the first user task is made.
func (k *Kernel) prepareUser(c Caller) error {
	u := &k.user
	if len(k.online()) < len(k.cpus) {
		return fmt.Errorf("%d of %d CPUs are online: start them all first", len(k.online()), len(k.cpus))
	}
	if !u.known {
		if err := k.findUserStacks(); err != nil {
			return err
		}
		u.known = true
	}
	if u.ready {
		return nil
	}
	u.ready = true
	return k.OnEachCPU(c, "user_init", 0)
}

// findUserStacks cuts the guest's array into stacks. The first is handed out first.
func (k *Kernel) findUserStacks() error {
	u := &k.user
	var err error
	if u.size, err = k.im.Layout("user_start", image.Parts{"fn": &u.fn, "arg": &u.arg}); err != nil {
		return err
	}
	all, ok := k.im.Symbol("user_stacks")
	if !ok {
		return fmt.Errorf("image %s has no stacks for user mode", k.im.Name)
	}
	n, err := k.im.Enum("USER_STACK_SIZE")
	if err != nil {
		return err
	}
	if n <= 0 {
		return fmt.Errorf("image %s: stacks of %d bytes for user mode", k.im.Name, n)
	}
	u.stack = uint64(n)
	for off := all.Size; off >= u.stack; off -= u.stack {
		u.stacks = append(u.stacks, all.Addr+off-u.stack)
	}
	return nil
}

// userStack takes a stack in user mode.
func (k *Kernel) userStack() (uint64, error) {
	u := &k.user
	n := len(u.stacks)
	if n == 0 {
		return 0, fmt.Errorf("no user stack is left: join tasks that have ended")
	}
	s := u.stacks[n-1]
	u.stacks = u.stacks[:n-1]
	return s, nil
}
