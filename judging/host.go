package judging

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"kprobesim/internal/native"
)

// timer executes programs: native.Timer, but in tests.
type timer interface {
	Time(j *native.Job) ([][]uint64, error)
	Close()
}

// Host times blocks on this processor.
type Host struct {
	timer timer
	clock [2][]byte // chains of dependent additions, of which each takes a cycle
	tick  float64   // ticks of the time-stamp counter in a core cycle, when it was timed last
	crowd []byte    // takes all that another thread of the core would take from a block
	// shares are the times of crowd in the jobs so far, as shares of the longer chain's, the shortest first.
	shares []float64
}

// hostLoops is how often the host repeats a loop, because steps of its time-stamp counter are coarse. The simulator repeats
// it less often.
const hostLoops = 8 * loops

// The chains' lengths.
const (
	longChain  = 1000
	shortChain = 200
	chainLoops = 64
)

// crowded is a loop of two stores to half a line, a load, additions and a jump that is taken, in 32 bytes. What else runs on the core
// makes it longer, while a chain of additions has its time as long as each of them finds a cycle. The jump is there because a thread that waits
// for memory leaves room for all but the predictor, which serves the threads of a core by turns.
func crowded() []byte {
	const place, groups, times = control + 1024, 24, 1000
	body := slices.Concat(
		Absolute([]byte{0x48, 0x89, 0x04, 0x25}, place), Absolute([]byte{0x48, 0x89, 0x04, 0x25}, place+8), // mov %rax,place
		Absolute([]byte{0x48, 0x8b, 0x0c, 0x25}, place+64),  // mov place,%rcx
		[]byte{0x44, 0x01, 0xc2, 0x44, 0x01, 0xc3, 0xeb, 0}) // add %r8d,%edx; add %r8d,%ebx; jmp to the next
	l := Loop{Body: body, Copies: groups, Times: times}
	return l.Native()
}

// NewHost returns a host that is timed by a process of this program with arguments by which it calls native.Serve.
func NewHost(args ...string) (*Host, error) {
	t, err := native.New(args...)
	if err != nil {
		return nil, err
	}
	h := &Host{timer: t, crowd: crowded()}
	for i, n := range []int{longChain, shortChain} {
		h.clock[i] = program([]byte{0x48, 0x01, 0xc8}, n, chainLoops, true) // add %rcx,%rax
	}
	return h, nil
}

// Close ends the process.
func (h *Host) Close() { h.timer.Close() }

// How often blocks are timed: all programs of a job one after the other, in passes, and again where the shortest two times
// of one of them are not near enough.
const (
	passes  = 7
	repeats = 2
	rounds  = 6
	near    = 1.01
)

// ErrBusy says that the times of a block did not agree.
var ErrBusy = errors.New("its times do not agree: the host is busy")

// Cycles times a copy of a block in core cycles.
func (h *Host) Cycles(block []byte, pages []uint64) (float64, error) {
	t, err := h.times(block, pages, long)
	return t.cycles(long), err
}

// took has the shortest times of a block's two loops, in core cycles of all copies.
type took struct{ more, less float64 }

// cycles is the time of a copy, of which the longer loop has so many.
func (t took) cycles(copies int) float64 {
	return (t.more - t.less) / float64((copies-copies/2)*times(hostLoops, copies))
}

// shortest are the times of two moments: what else a host does makes a time longer, and none shorter.
func (t took) shortest(u took) took { return took{min(t.more, u.more), min(t.less, u.less)} }

// times times a loop of so many copies and one of half as many.
func (h *Host) times(block []byte, pages []uint64, copies int) (took, error) {
	times := times(hostLoops, copies)
	return h.took(program(block, copies, times, true), program(block, copies/2, times, true),
		&native.Job{Pages: pages, Fill: fillWord, Passes: passes, Repeats: repeats}, near)
}

// Difference times two programs in core cycles, and returns by how much the first is longer, of so many parts that it has more. A
// host on which the longer one takes no longer is busy.
// The job says the rest.
func (h *Host) Difference(more, less []byte, parts int, j *native.Job) (float64, error) {
	t, err := h.took(more, less, j, near)
	return (t.more - t.less) / float64(parts), err
}

// took times two programs until their two shortest times agree within a share, in passes that had the core to themselves.
func (h *Host) took(more, less []byte, j *native.Job, near float64) (took, error) {
	j.Programs, j.Control = [][]byte{h.clock[0], more, h.clock[1], less, h.crowd}, control
	var all [4][]uint64
	for range rounds {
		ticks, err := h.timer.Time(j)
		if err != nil {
			return took{}, err
		}
		ticks = h.quiet(ticks)
		settled := true
		for i := range all {
			for _, pass := range ticks {
				all[i] = append(all[i], pass[i])
			}
			slices.Sort(all[i])
			settled = settled && len(all[i]) > 1 && float64(all[i][1]) <= near*float64(all[i][0])
		}
		if settled && all[0][0] > all[2][0] && all[1][0] > all[3][0] {
			h.tick = float64(all[0][0]-all[2][0]) / ((longChain - shortChain) * chainLoops)
			return took{float64(all[1][0]) / h.tick, float64(all[3][0]) / h.tick}, nil
		}
	}
	return took{}, ErrBusy
}

// quietest is the part of all jobs, one in so many, whose crowded loop tells what it takes on a quiet core. Still shorter times are
// due to a chain that was disturbed, and are fewer.
const quietest = 20

// crowdNear is how near to that a crowded loop is on a quiet core. It is wider than near, because how stores meet in pairs differs
// from run to run: by up to 4 % on an Intel core of family 6, model 207.
const crowdNear = 1.05

// quiet leaves the passes in which no other thread of the core was at work, as far as is known yet.
func (h *Host) quiet(ticks [][]uint64) [][]uint64 {
	slices.SortFunc(ticks, func(a, b []uint64) int { return cmp.Compare(a[0], b[0]) })
	chain := float64(ticks[0][0])
	slices.SortFunc(ticks, func(a, b []uint64) int { return cmp.Compare(a[4], b[4]) })
	share := float64(ticks[1][4]) / chain
	at, _ := slices.BinarySearch(h.shares, share)
	h.shares = slices.Insert(h.shares, at, share)
	alone := h.shares[len(h.shares)/quietest]
	return slices.DeleteFunc(ticks, func(pass []uint64) bool { return float64(pass[4]) > crowdNear*alone*chain })
}

// Clocked is a host that is asked how fast it is: Host, but in tests.
type Clocked interface {
	Cycles(block []byte, pages []uint64) (float64, error)
	Values(programs ...[]byte) ([]uint64, error)
	CycleTicks() float64
}

// clockTime is how long Clock measures. A Host learns meanwhile how long the crowded loop takes on a quiet core, if it is quiet then.
const clockTime = 1500 * time.Millisecond

// Clock measures for a while how fast a core is while it works, at its least and at its most, and how fast its time-stamp counter, in Hz.
func Clock(h Clocked) (least, most, counter float64, err error) {
	a, err := h.Values(Now())
	if err != nil {
		return 0, 0, 0, err
	}
	begun := time.Now()
	var ticks []float64
	for time.Since(begun) < clockTime {
		if _, err := h.Cycles([]byte{0x90}, nil); err == nil {
			ticks = append(ticks, h.CycleTicks())
		}
	}
	b, err := h.Values(Now())
	if err == nil && len(ticks) == 0 {
		err = ErrBusy
	}
	if err != nil {
		return 0, 0, 0, err
	}
	counter = float64(b[0]-a[0]) / time.Since(begun).Seconds()
	return counter / slices.Max(ticks), counter / slices.Min(ticks), counter, nil
}

// CycleTicks returns how many ticks of the time-stamp counter a core cycle had when something was timed last.
func (h *Host) CycleTicks() float64 { return h.tick }

// Values executes programs once, and returns what they return.
func (h *Host) Values(programs ...[]byte) ([]uint64, error) {
	got, err := h.timer.Time(&native.Job{Programs: programs, Control: control, Passes: 1, Repeats: 1})
	if err != nil {
		return nil, err
	}
	return got[0], nil
}

// Shortest times a program in core cycles. The shortest two times of all passes must agree within a share.
func (h *Host) Shortest(p []byte, j *native.Job, near float64) (float64, error) {
	j.Programs, j.Control = [][]byte{p}, control
	ticks, err := h.timer.Time(j)
	if err != nil {
		return 0, err
	}
	var all []uint64
	for _, pass := range ticks {
		all = append(all, pass[0])
	}
	slices.Sort(all)
	if float64(all[1]) > near*float64(all[0]) {
		return 0, ErrBusy
	}
	return float64(all[0]) / h.tick, nil
}
