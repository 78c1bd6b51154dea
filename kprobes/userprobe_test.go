package kprobes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/sim"
	"kprobesim/smp"
)

// userImages are the kernels that probe user space.
func userImages(t *testing.T) (names []string) {
	t.Helper()
	for _, name := range images() {
		if strings.HasSuffix(name, "-userprobes") {
			names = append(names, name)
		}
	}
	require.Need(t, len(names) != 0, "no image probes user space")
	return names
}

// users is a machine whose tasks have address spaces.
type users struct {
	*crowd
	f *smp.File
}

// eachUser boots every kernel that probes user space.
func eachUser(t *testing.T, cpus int, body func(u *users)) {
	t.Helper()
	for _, name := range userImages(t) {
		if cpus > 1 && strings.HasPrefix(name, "i386") {
			continue // is for one
		}
		t.Run(name, func(t *testing.T) {
			bootMany(t, name, cpus, Default(), func(w *crowd) {
				f := value(w.smp.Program())(w)
				body(&users{w, f})
			})
		})
	}
}

// start starts a task on a CPU.
func (u *users) start(cpu int, fn string, arg uint64, writable bool) (uint64, *smp.Space) {
	u.t.Helper()
	task, s, err := u.smp.SpawnProcess(u.Call, smp.Process{
		Thread:  smp.Thread{Name: fn, CPU: cpu, Bound: true, Fn: fn, Arg: arg},
		Program: u.f, WritableText: writable,
	})
	u.do(err)
	return task, s
}

// runs is the exit code of a task that runs a function.
func (u *users) runs(fn string, arg uint64) int32 {
	u.t.Helper()
	task, _ := u.start(0, fn, arg, false)
	return u.exitCode(task)
}

// probe registers a probe and puts it into every page.
func (u *users) probe(s UserSpec) *UserProbe {
	u.t.Helper()
	s.File = u.f
	p := value(u.k.AddUser(u.Call, s))(u)
	if p != nil {
		u.do(u.k.InsertEverywhere(u.Call, p))
	}
	return p
}

func (u *users) unprobe(ps ...*UserProbe) {
	u.t.Helper()
	for _, p := range ps {
		u.do(u.k.RemoveUserProbe(u.Call, p))
	}
}

// word reads a variable of the kernel that is as wide as an address.
func (u *users) word(symbol string) uint64 {
	u.t.Helper()
	v := value(u.m.Load(u.addr(symbol), u.m.Image().Bits/8))(u)
	return v
}

// wants holds an error of the interface.
func (u *users) wants(what string, got error, want Errno) {
	u.t.Helper()
	require.That(u.t, (want != 0 || got == nil) && (want == 0 || errors.Is(got, want)), "%s: error %v, want %v", what, got, want)
}

// entry is where the code of a function begins.
func (u *users) entry(symbol string) uint64 {
	u.t.Helper()
	fn, ok := u.m.Image().Func(symbol)
	require.Need(u.t, ok, "no function %s", symbol)
	return fn.Entry
}

// The four calls answer as the interface of 2004 says.
func TestUserProbeCalls(t *testing.T) {
	eachUser(t, 1, func(u *users) {
		task, s := u.start(0, "user_sleeps", 3, false)
		slots := map[string][]uint64{}
		u.m.Watch(func(e sim.Event) {
			if e.Kind == EventSlot {
				slots[e.Name] = append(slots[e.Name], e.Arg)
			}
		})
		spec := UserSpec{File: u.f, Symbol: "user_mix", Handler: "user_probe_pre"}
		p, err := u.k.AddUser(u.Call, spec)
		u.wants("register", err, 0)
		require.Error(u.t, u.k.InsertShared(u.Call, p), "touch it first", "insert into a page that is not there")
		u.do(u.k.smp.Touch(u.Call, s, u.entry("user_mix"), false))
		_, err = u.k.AddUser(u.Call, spec)
		u.wants("register again", err, EEXIST)
		m, ok := u.smp.Page(s, u.entry("user_mix"))
		require.Need(u.t, ok, "the page is not there")
		u.wants("insert", u.k.InsertInto(u.Call, p, m), 0)
		u.wants("insert again", u.k.InsertInto(u.Call, p, m), EEXIST)
		u.wants("remove", u.k.RemoveUser(u.Call, p.Addr), 0)
		u.wants("remove again", u.k.RemoveUser(u.Call, p.Addr), 0)
		u.wants("insert after a removal", u.k.InsertInto(u.Call, p, m), 0)
		u.wants("remove", u.k.RemoveUser(u.Call, p.Addr), 0)
		_, inode, offset := u.k.place(p.Addr)
		chain := func() []uint64 { return u.k.hlist(u.k.bucket(u.k.sym.table, inode*offset), u.k.hash()) }
		require.That(u.t, slices.Contains(chain(), p.Addr), "the probe is not in the table")
		u.wants("unregister", u.k.UnregisterUser(u.Call, p.Addr), 0)
		require.That(u.t, !slices.Contains(chain(), p.Addr), "a hit would find the probe that was unregistered")
		u.wants("unregister again", u.k.UnregisterUser(u.Call, p.Addr), 0)
		u.wants("insert without registration", u.k.InsertInto(u.Call, p, m), ENODATA)
		u.wants("remove without registration", u.k.RemoveUser(u.Call, p.Addr), ENODATA)
		taken := slots["taken"]
		require.That(u.t, slices.Equal(taken, slots["freed"]) && (len(taken) == 1) == (u.k.arch.First == Emulated), "slots that the trace shows: %v", slots)
		u.wants("register once more", u.k.RegisterUser(u.Call, p.Addr), 0)
		u.wants("unregister", u.k.UnregisterUser(u.Call, p.Addr), 0)
		u.exitCode(task)
	})
}

// Without the option every call says ENOSYS.
func TestNoUserProbes(t *testing.T) {
	boot(t, Default(), func(l *live) {
		for name, f := range map[string]func(Caller, uint64) error{
			"register": l.k.RegisterUser, "unregister": l.k.UnregisterUser, "insert": l.k.InsertUser, "remove": l.k.RemoveUser,
		} {
			err := f(l.Call, 0)
			require.That(t, errors.Is(err, ENOSYS), "%s: %v", name, err)
		}
		if _, err := l.k.AddUser(l.Call, UserSpec{}); !errors.Is(err, ENOSYS) {
			t.Error(err)
		}
	})
}

// Handlers run in the kernel and see the registers of user mode. Every task that maps the page hits.
func TestUserProbeHandlers(t *testing.T) {
	eachUser(t, 1, func(u *users) {
		want := u.runs("user_mixes", 30)
		p := u.probe(UserSpec{Symbol: "user_mix", Handler: "user_probe_pre", Post: "user_probe_post"})
		one, s := u.start(0, "user_mixes", 30, false)
		two, _ := u.start(0, "user_mixes", 30, false)
		if got := [2]int32{u.exitCode(one), u.exitCode(two)}; got != [2]int32{want, want} {
			u.t.Errorf("results %d, want %d", got, want)
		}
		if hits, posts := u.word("user_hits"), u.word("user_posts"); hits != 60 || posts != 60 {
			u.t.Errorf("%d hits, %d post handlers", hits, posts)
		}
		if ip, at := u.word("user_seen_ip"), u.entry("user_mix"); ip-at > uint64(len(u.k.arch.Breakpoint)) {
			u.t.Errorf("the handler sees ip %#x, the probe is at %#x", ip, at)
		}
		if sp := u.word("user_seen_sp"); s == nil || sp < u.stackFrom() || sp >= u.stackFrom()+8*4096 {
			u.t.Errorf("the handler sees a stack pointer %#x", sp)
		}
		require.Equal(u.t, u.word("user_seen_argument"), 29, "the handler sees the argument")
		u.unprobe(p)
		if got := u.runs("user_mixes", 30); got != want || u.word("user_hits") != 60 {
			u.t.Errorf("after the removal: result %d and %d hits", got, u.word("user_hits"))
		}
	})
}

// stackFrom is where the stacks of processes begin.
func (u *users) stackFrom() uint64 { return u.word("user_stack_top") - 8*4096 }

// instructions are the offsets of a function's instructions.
func (u *users) instructions(symbol string) (offsets []uint64) {
	u.t.Helper()
	fn, _ := u.m.Image().Func(symbol)
	size := fn.Size
	code := value(u.m.ReadBytes(u.linked(fn.Entry), int(size)))(u)
	disasm := KitOf(u.m.Image()).ISA.Disasm
	for off := uint64(0); off < size; {
		offsets = append(offsets, off)
		_, n := disasm(code[off:], fn.Entry+off, func(uint64) (string, uint64) { return "", 0 })
		require.Need(u.t, n > 0, "%s+%#x: no instruction", symbol, off)
		off += uint64(n)
	}
	return offsets
}

// linked is where the kernel finds what the loader put into memory for user mode.
func (u *users) linked(at uint64) uint64 { return at }

// A probe on every instruction of a function changes nothing of what it computes.
func TestUserProbeOnEveryInstruction(t *testing.T) {
	eachUser(t, 1, func(u *users) {
		want := u.runs("user_mixes", 20)
		var ps []*UserProbe
		for _, fn := range []string{"user_leaf", "user_mix"} {
			for _, off := range u.instructions(fn) {
				p := value(u.k.AddUser(u.Call, UserSpec{File: u.f, Symbol: fn, Offset: off, Handler: "user_probe_pre"}))(u)
				err := u.k.InsertEverywhere(u.Call, p)
				require.That(u.t, err == nil, "%s+%#x: %v", fn, off, err)
				ps = append(ps, p)
			}
		}
		require.Equal(u.t, u.runs("user_mixes", 20), want, "result")
		if hits := u.word("user_hits"); len(ps) < 20 || hits < uint64(20*len(ps)/2) {
			u.t.Errorf("%d probes, %d hits", len(ps), hits)
		}
		u.unprobe(ps...)
		require.Equal(u.t, u.runs("user_mixes", 20), want, "without probes: result")
	})
}

// A breakpoint is in one copy of a page: the tasks that map that copy hit it, others do not. A copy of a page with a
// breakpoint has it, too.
func TestUserProbeAndCopies(t *testing.T) {
	eachUser(t, 1, func(u *users) {
		want := u.runs("user_mixes", 20)
		text := u.entry("user_mix")
		own, s := u.start(0, "user_mixes", 20, true)
		u.do(u.smp.Touch(u.Call, s, text, true))
		other, so := u.start(0, "user_mixes", 20, false)
		u.do(u.smp.Touch(u.Call, so, text, false))
		p := value(u.k.AddUser(u.Call, UserSpec{File: u.f, Symbol: "user_mix", Handler: "user_probe_pre"}))(u)
		m, _ := u.smp.Page(so, text)
		u.wants("insert into the shared page", u.k.InsertInto(u.Call, p, m), 0)
		if got := u.exitCode(own); got != want {
			u.t.Errorf("the task with a copy: result %d, %d hits", got, u.word("user_hits"))
		}
		if got := u.exitCode(other); got != want || u.word("user_hits") != 20 {
			u.t.Errorf("the task without alone hits: result %d, %d hits", got, u.word("user_hits"))
		}
		late, sl := u.start(0, "user_mixes", 20, true)
		u.do(u.smp.Touch(u.Call, sl, text, true))
		if got := u.exitCode(late); got != want || u.word("user_hits") != 40 {
			u.t.Errorf("a copy of the page with the breakpoint: result %d, %d hits", got, u.word("user_hits"))
		}
		u.unprobe(p)
	})
}

// A caller that inserts into each page that comes in keeps its probes when pages go: the file's are read again, a task's
// come back from swap, and a first access finds the probe that was inserted before there was a page.
func TestUserProbeSurvivesPaging(t *testing.T) {
	eachUser(t, 1, func(u *users) {
		text := u.entry("user_mix")
		p := u.probe(UserSpec{Symbol: "user_mix", Handler: "user_probe_pre"})
		want := u.runs("user_mixes", 20)
		if hits := u.word("user_hits"); hits != 20 || u.word("user_reinserted") != 1 {
			u.t.Errorf("at the first access: %d hits, %d insertions", hits, u.word("user_reinserted"))
		}
		u.do(u.smp.Drop(u.Call, u.f, text-u.f.Base))
		if got := u.runs("user_mixes", 20); got != want || u.word("user_hits") != 40 || u.word("user_reinserted") != 2 {
			u.t.Errorf("read again: result %d, %d hits, %d insertions", got, u.word("user_hits"), u.word("user_reinserted"))
		}
		task, s := u.start(0, "user_mixes", 20, true)
		u.do(u.smp.Touch(u.Call, s, text, true))
		u.do(u.smp.PageOut(u.Call, s, text))
		if got := u.exitCode(task); got != want || u.word("user_hits") != 60 {
			u.t.Errorf("from swap: result %d, %d hits", got, u.word("user_hits"))
		}
		u.unprobe(p)
	})
}

// A return probe of a function of user space sees its result and leads back to its caller, also where calls nest.
func TestUserReturnProbe(t *testing.T) {
	eachUser(t, 1, func(u *users) {
		want := u.runs("user_mixes", 20)
		tramp := value(u.k.AddTrampoline(u.Call, u.f))(u)
		u.do(u.k.InsertEverywhere(u.Call, tramp))
		outer := u.probe(UserSpec{Symbol: "user_mixes", Return: true, MaxActive: 2, Handler: "user_return_empty"})
		p := u.probe(UserSpec{Symbol: "user_mix", Return: true, MaxActive: 2, Handler: "user_probe_return"})
		require.Equal(u.t, u.runs("user_mixes", 20), want, "result")
		require.Equal(u.t, u.word("user_returns"), 20, "returns")
		u.unprobe(p)
		one := u.probe(UserSpec{Symbol: "user_target", Return: true, MaxActive: 1, Handler: "user_probe_return"})
		u.runs("user_targets", 7)
		if n, v := u.word("user_returns"), u.word("user_seen_value"); n != 27 || v != 7 {
			u.t.Errorf("%d returns, the last one of %d", n, v)
		}
		u.unprobe(one, outer, tramp)
	})
}

// The fault handler hears of a fault of the instruction, which goes its usual way then and hits once more.
func TestUserProbeFaults(t *testing.T) {
	eachUser(t, 1, func(u *users) {
		data := u.addr("user_mixed")
		var ps []*UserProbe
		for _, off := range u.instructions("user_touches") {
			p, err := u.k.AddUser(u.Call, UserSpec{
				File: u.f, Symbol: "user_touches", Offset: off, Handler: "user_probe_pre", Fault: "user_probe_fault",
			})
			u.do(err)
			u.do(u.k.InsertEverywhere(u.Call, p))
			ps = append(ps, p)
		}
		require.Equal(u.t, u.runs("user_touches", data), 3, "the word")
		if n := u.word("user_faults"); n < 2 || n > 4 {
			u.t.Errorf("%d faults of the probed instructions", n)
		}
		u.unprobe(ps...)
	})
}

// Tasks on several CPUs share a page whose probe comes and goes under them. None of them executes what is not there,
// and every hit finds its probe.
func TestUserProbeComesAndGoes(t *testing.T) {
	eachUser(t, 3, func(u *users) {
		want := u.runs("user_mixes", 400)
		var tasks []uint64
		for i := range 3 {
			task, _ := u.start(i, "user_mixes", 400, false)
			tasks = append(tasks, task)
		}
		for range 5 {
			p := u.probe(UserSpec{Symbol: "user_mix", Handler: "user_probe_pre", Post: "user_probe_post"})
			u.sleep(1)
			u.unprobe(p)
		}
		for i, task := range tasks {
			require.Equal(u.t, u.exitCode(task), want, "task %d: result", i)
		}
		require.That(u.t, u.word("user_hits") != 0, "no hit")
	})
}

// What user space cannot be probed with is refused, and says so.
func TestUserProbeRefusals(t *testing.T) {
	eachUser(t, 1, func(u *users) {
		task, s := u.start(0, "user_sleeps", 2, false)
		refused := 0
		for _, off := range u.instructions("user_asks") {
			at := u.entry("user_asks") + off
			u.do(u.smp.Touch(u.Call, s, at, false))
			p := value(u.k.AddUser(u.Call, UserSpec{File: u.f, Symbol: "user_asks", Offset: off}))(u)
			m, _ := u.smp.Page(s, at)
			if err := u.k.InsertInto(u.Call, p, m); errors.Is(err, EINVAL) {
				refused++
			}
			u.unprobe(p)
		}
		require.That(u.t, refused == 1, "%d instructions are refused, the system call should be", refused)
		if _, err := u.k.AddUser(u.Call, UserSpec{File: u.f, Symbol: "no_such"}); err == nil || !strings.Contains(fmt.Sprint(err), "no function no_such") {
			u.t.Errorf("error %v", err)
		}
		require.That(u.t, !slices.Contains(u.k.userSites, nil) && len(u.k.userSites) == 0, "%d probes are left", len(u.k.userSites))
		u.exitCode(task)
	})
}

// TestTallyOfUsers counts every call of a probed function on several CPUs. A CPU misses its hit where another one has the breakpoint
// away for its own step.
func TestTallyOfUsers(t *testing.T) {
	const calls = 300
	missed := int64(0)
	eachUser(t, 3, func(u *users) {
		u.runs("user_mixes", 1) // brings the page in
		p := u.probe(UserSpec{Symbol: "user_mix", Handler: "user_probe_pre"})
		of := value(u.k.NewTally(p.Addr))(u)
		for i := range u.m.CPUs() {
			u.m.CPU(i).ObserveCode(of, of.Spans(), false)
		}
		before := u.word("user_hits")
		var tasks []uint64
		for i := range u.m.CPUs() {
			task, _ := u.start(i, "user_mixes", calls, false)
			tasks = append(tasks, task)
		}
		for _, task := range tasks {
			u.exitCode(task)
		}
		got, hits := of.sum(), int64(u.word("user_hits")-before)
		require.That(u.t, got.All == int64(calls*len(tasks)) && got.Missed == got.All-hits, "%+v of %d calls, of which the guest counts %d", got, calls*len(tasks), hits)
		missed += got.Missed
		u.unprobe(p)
	})
	require.That(t, missed > 0, "no hit was missed")
}

// TestStoredBreakpointIsShown brings a page in while another task stores a breakpoint there: fetches must see it before the page is
// mapped by the first of the two.
func TestStoredBreakpointIsShown(t *testing.T) { eachKernel(t, holdStoredBreakpointIsShown) }

func holdStoredBreakpointIsShown(t *testing.T, image string) {
	g := newGuest(t, image, boosting())
	const inode, offset, at = 5, 0x40, 0x1040
	s := &userSite{inode: inode, offset: offset}
	g.k.userSites = append(g.k.userSites, s)
	for _, x := range []struct {
		inserting int
		offset    uint64
		shown     bool
	}{{0, offset, false}, {1, offset, true}, {2, offset, true}, {1, offset + 4, false}} {
		s.inserting, g.flushed = x.inserting, nil
		require.NoError(t, g.k.showInserted(g, inode, x.offset, at))
		shown := len(g.flushed) == 1 && g.flushed[0] == Span{at, at + uint64(len(g.k.arch.Breakpoint))}
		require.That(t, shown == (x.shown && g.k.arch.Flush != ""), "%d insertions on their way, offset %#x: flushed %x", x.inserting, x.offset, g.flushed)
	}
}
