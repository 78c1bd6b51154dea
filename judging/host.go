package judging

import (
	"errors"
	"slices"

	"kprobesim/internal/native"
)

// Host times blocks on this processor.
type Host struct {
	timer *native.Timer
	clock [2][]byte // chains of dependent additions, of which each takes a cycle
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

// NewHost returns a host that is timed by a process of this program with arguments by which it calls native.Serve.
func NewHost(args ...string) (*Host, error) {
	t, err := native.New(args...)
	if err != nil {
		return nil, err
	}
	h := &Host{timer: t}
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
	j := &native.Job{
		Programs: [][]byte{h.clock[0], program(block, long, hostLoops, true), h.clock[1], program(block, short, hostLoops, true)},
		Pages:    pages, Fill: fillWord, Control: control, Passes: passes, Repeats: repeats,
	}
	var all [4][]uint64
	for range rounds {
		ticks, err := h.timer.Time(j)
		if err != nil {
			return 0, err
		}
		settled := true
		for i := range all {
			for _, pass := range ticks {
				all[i] = append(all[i], pass[i])
			}
			slices.Sort(all[i])
			settled = settled && float64(all[i][1]) <= near*float64(all[i][0])
		}
		if settled {
			cycle := float64(all[0][0]-all[2][0]) / ((longChain - shortChain) * chainLoops)
			return float64(all[1][0]-all[3][0]) / ((long - short) * hostLoops) / cycle, nil
		}
	}
	return 0, ErrBusy
}
