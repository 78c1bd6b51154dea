//go:build linux && amd64

package native

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"unsafe"

	"kprobesim/internal/hostcode"
)

// runner holds the code and the pages of jobs.
type runner struct {
	room  *hostcode.Room
	pages map[uint64]bool // that are mapped

	others []int // processors but the one of this thread
}

// roomBytes is the memory for the programs of a job.
const roomBytes = 1 << 20

// able returns why no code can be timed here, or nil.
func able() error {
	if hostcode.NewRoom(roomBytes) == nil {
		return fmt.Errorf("this host does not let generated code run, so nothing can be timed on it")
	}
	return nil
}

// newHost prepares this process: its thread stays on one processor, but that of a program beside, and it ends with the number of the
// signal when a program faults.
func newHost() (*runner, error) {
	runtime.LockOSThread()
	r := &runner{room: hostcode.NewRoom(roomBytes), pages: map[uint64]bool{}}
	if r.room == nil {
		return nil, able()
	}
	var err error
	if r.others, err = stay(); err != nil {
		return nil, fmt.Errorf("this thread cannot be kept on one processor: %w", err)
	}
	// mov $SYS_exit_group,%eax; syscall. The number of the signal is in EDI.
	leave := r.room.Address(r.room.Put([]byte{0xb8, syscall.SYS_EXIT_GROUP, 0, 0, 0, 0x0f, 0x05}))
	for _, s := range faults {
		if err := handle(syscall.Signal(s), leave); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// handle has the kernel call code for a signal, on the stack that the runtime keeps for that.
func handle(s syscall.Signal, code uintptr) error {
	const onStack, restorer = 0x08000000, 0x04000000
	action := struct {
		handler, flags, restorer uintptr
		mask                     uint64
	}{code, onStack | restorer, code, 0}
	_, _, failed := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
	if failed != 0 {
		return failed
	}
	return nil
}

// stay keeps this thread on the processor of the highest number that it may use: interrupts of devices prefer the first.
func stay() ([]int, error) {
	all, err := processors()
	if err != nil {
		return nil, err
	}
	last := len(all) - 1
	return all[:last], on(all[last])
}

// setBits is how many processors a set has room for.
const setBits = 128 * 64

// processors lists the processors that this thread may use, by number.
func processors() (all []int, err error) {
	var set [setBits / 64]uint64
	at := unsafe.Pointer(&set)
	if _, _, failed := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(set), uintptr(at)); failed != 0 {
		return nil, failed
	}
	for i := range setBits {
		if set[i/64]>>(i%64)&1 != 0 {
			all = append(all, i)
		}
	}
	return all, nil
}

// on keeps this thread on a processor.
func on(processor int) error {
	var set [setBits / 64]uint64
	set[processor/64] = 1 << (processor % 64)
	at := unsafe.Pointer(&set)
	if _, _, failed := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(set), uintptr(at)); failed != 0 {
		return failed
	}
	return nil
}

// beside has another thread execute a program on its processor, and returns what ends that.
func (r *runner) beside(j *Job) (end func(), err error) {
	if j.Beside == nil {
		return func() {}, nil
	}
	if j.Beside.Processor >= len(r.others) {
		return nil, ErrAlone
	}
	code := r.room.Address(r.room.Put(j.Beside.Program))
	ends := (*uint32)(address(j.Control + Ends))
	atomic.StoreUint32(ends, 0)
	begun, done := make(chan error), make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with the goroutine, because its processor is no other goroutine's
		err := on(r.others[j.Beside.Processor])
		if begun <- err; err == nil {
			hostcode.Call(code, code, nil)
		}
	}()
	err = <-begun
	return func() { atomic.StoreUint32(ends, Ended); <-done }, err
}

// run executes a job.
func (r *runner) run(j *Job) ([][]uint64, error) {
	if err := r.mapPages(j); err != nil {
		return nil, err
	}
	start := r.room.Used()
	defer r.room.Empty(start)
	var at []uintptr
	for _, p := range j.Programs {
		r.room.Put(make([]byte, -r.room.Used()&(pageSize-1))) // the next program begins at a page
		if r.room.Used()+len(p) > roomBytes {
			return nil, fmt.Errorf("programs of more than %d bytes", roomBytes)
		}
		at = append(at, r.room.Address(r.room.Put(p)))
	}
	for i, c := range j.Chains {
		if err := r.chain(c); err != nil {
			return nil, err
		}
		*(*uint64)(address(j.Control + 128 + uint64(i)*8)) = c.At
	}
	defer r.unchain(j.Chains)
	end, err := r.beside(j)
	if err != nil {
		return nil, err
	}
	defer end()
	var ticks [][]uint64
	for range j.Passes {
		pass := make([]uint64, len(at))
		for i, a := range at {
			pass[i] = r.shortest(j, a)
		}
		ticks = append(ticks, pass)
	}
	return ticks, nil
}

// shortest executes a program as often as a pass does.
func (r *runner) shortest(j *Job, at uintptr) uint64 {
	least := ^uint64(0)
	for range j.Repeats {
		for _, p := range j.Pages {
			fill(p, j.Fill)
		}
		least = min(least, hostcode.Call(at, at, nil))
	}
	return least
}

// pageSize is the size of a job's pages, and lowest is below the addresses that a process may use.
const (
	pageSize = 4096
	lowest   = 1 << 16
)

// fill makes a page full of a word.
func fill(page, word uint64) {
	for at := page; at < page+pageSize; at += 8 {
		*(*uint64)(address(at)) = word
	}
}

// address is a pointer to a page that was mapped here, of which the runtime knows nothing.
func address(va uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&va)) }

// chain maps the memory of a chain and fills it.
func (r *runner) chain(c Chain) error {
	if !mapAt(c.At, c.Room()) {
		return ErrPage
	}
	advice := uintptr(15) // MADV_NOHUGEPAGE
	if c.Large {
		advice = 14 // MADV_HUGEPAGE
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_MADVISE, uintptr(c.At), uintptr(c.Room()), advice) // a wish
	c.Lay(unsafe.Slice((*byte)(address(c.At)), c.Size))
	return nil
}

// unchain gives the memory of chains back.
func (r *runner) unchain(chains []Chain) {
	for _, c := range chains {
		_, _, _ = syscall.RawSyscall(syscall.SYS_MUNMAP, uintptr(c.At), uintptr(c.Room()), 0) // it was mapped
	}
}

// mapAt maps memory at an address, unless something is there.
func mapAt(at, size uint64) bool {
	const noReplace = 0x100000 // MAP_FIXED_NOREPLACE
	got, _, failed := syscall.RawSyscall6(syscall.SYS_MMAP, uintptr(at), uintptr(size), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|noReplace, ^uintptr(0), 0)
	return failed == 0 && uint64(got) == at
}

// mapPages maps the pages of a job, and takes away the pages of other jobs.
func (r *runner) mapPages(j *Job) error {
	want := slices.Clone(j.Pages)
	if j.Control != 0 {
		want = append(want, j.Control)
	}
	for p := range r.pages {
		if !slices.Contains(want, p) {
			_, _, _ = syscall.RawSyscall(syscall.SYS_MUNMAP, uintptr(p), pageSize, 0) // it was mapped
			delete(r.pages, p)
		}
	}
	for _, p := range want {
		if r.pages[p] {
			continue
		}
		if p < lowest || !mapAt(p, pageSize) {
			return ErrPage
		}
		r.pages[p] = true
	}
	return nil
}
