package native

import (
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"time"
)

// Job has programs timed. Each begins at a page, keeps RSP and RBP, changes other registers at will and returns a number in
// RAX, as a rule the ticks of the time-stamp counter that it took.
type Job struct {
	Programs [][]byte
	Pages    []uint64 // addresses of pages of 4 KiB of its own that the programs may use, and
	Fill     uint64   // the word that they are full of before each program
	Control  uint64   // a page more, which is not filled; 0 for none
	Chains   []Chain
	Passes   int // how often all programs are executed, one after the other
	Repeats  int // executions of a program in each pass, of which the shortest counts
	Beside   *Beside
}

// Beside is a program that another processor executes from before the first of a job's until behind the last. It ends where the word at
// Ends of the job's Control page is Ended.
type Beside struct {
	Program   []byte
	Processor int // which of those that the process may use and the job has not, from 0 on
}

// Ends is the place of the word that ends a program beside, and Ended what stands there then.
const (
	Ends  = 192
	Ended = 1
)

// Chain is memory in which each place holds the address of the next one, all of them in an order by chance. Its first address
// is in Control from byte 128 on, a word for each chain, where programs may put another.
type Chain struct {
	At    uint64
	Size  uint64 // bytes, a multiple of Step
	Step  uint64 // bytes from place to place
	Skew  uint64 // bytes by which each place is further in its step than the one before, but not behind it
	Seed  uint64 // what the order is drawn by
	Large bool   // in large pages, where the host has them
	Data  []byte // what the memory begins with, in place of addresses
}

// LargePage is the size of a large page.
const LargePage = 2 << 20

// Room is the memory that a chain takes.
func (c *Chain) Room() uint64 {
	if c.Large {
		return (c.Size + LargePage - 1) &^ (LargePage - 1)
	}
	return c.Size
}

// Lay writes what the memory of a chain holds.
func (c *Chain) Lay(memory []byte) {
	if c.Data != nil {
		copy(memory, c.Data)
		return
	}
	place := func(i int) uint64 { return uint64(i)*c.Step + uint64(i)*c.Skew%c.Step }
	here := place(0)
	for _, i := range rand.New(rand.NewPCG(26+c.Seed, c.Size)).Perm(int(c.Size/c.Step) - 1) {
		next := place(i + 1)
		binary.LittleEndian.PutUint64(memory[here:], c.At+next)
		here = next
	}
	binary.LittleEndian.PutUint64(memory[here:], c.At)
}

// Result holds what the programs returned, by pass and program.
type Result struct {
	Ticks [][]uint64
	Err   string // why there is none
	Taken bool   // because a page of the job cannot be mapped
	Alone bool   // because there is no processor for the program beside
}

// Errors of a job, whose program is at fault and not the host.
var (
	ErrFault   = errors.New("the code faults on the host")
	ErrForever = errors.New("the code does not end on the host")
	ErrPage    = errors.New("the host has no room for its pages")
	ErrAlone   = errors.New("the host has no further processor for this process")
)

// patience is how long a job may take.
const patience = 5 * time.Second

// Timer executes jobs in a child process. It is for one goroutine.
type Timer struct {
	args  []string // that make this program Serve
	child *child
}

// child is a running process and its ends of two pipes.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	to  *gob.Encoder
	out *gob.Decoder
}

// New returns a timer whose child is this program with other arguments, by which it calls Serve. It returns an error on
// hosts where no code can be timed.
func New(args ...string) (*Timer, error) {
	if err := able(); err != nil {
		return nil, err
	}
	return &Timer{args: args}, nil
}

// Close ends the child.
func (t *Timer) Close() {
	if t.child != nil {
		_ = t.child.in.Close()
		_ = t.child.cmd.Wait() // it ends with its input
		t.child = nil
	}
}

// Time executes a job.
func (t *Timer) Time(j *Job) ([][]uint64, error) {
	if err := t.start(); err != nil {
		return nil, err
	}
	c, late := t.child, false
	alarm := time.AfterFunc(patience, func() { late = true; _ = c.cmd.Process.Kill() })
	var r Result
	err := c.to.Encode(j)
	if err == nil {
		err = c.out.Decode(&r)
	}
	alarm.Stop()
	if err != nil {
		t.child = nil
		_ = c.in.Close()
		ended := c.cmd.Wait()
		var exit *exec.ExitError
		switch {
		case late:
			return nil, ErrForever
		case errors.As(ended, &exit) && slices.Contains(faults[:], exit.ExitCode()):
			return nil, fmt.Errorf("%w (signal %d)", ErrFault, exit.ExitCode())
		}
		return nil, fmt.Errorf("the process that times code: %w", errors.Join(err, ended))
	}
	switch {
	case r.Taken:
		return nil, ErrPage
	case r.Alone:
		return nil, ErrAlone
	}
	if r.Err != "" {
		return nil, errors.New(r.Err)
	}
	return r.Ticks, nil
}

// faults are the signals that end a child, which exits with their number: SIGILL, SIGTRAP, SIGBUS, SIGFPE and SIGSEGV of
// Linux.
var faults = [...]int{4, 5, 7, 8, 11}

// start starts the child, unless it runs.
func (t *Timer) start() error {
	if t.child != nil {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, t.args...)
	cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1", "GOGC=off")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	t.child = &child{cmd, in, gob.NewEncoder(in), gob.NewDecoder(out)}
	return nil
}

// Serve executes jobs until its input ends.
func Serve(in io.Reader, out io.Writer) error {
	h, err := newHost()
	if err != nil {
		return err
	}
	from, to := gob.NewDecoder(in), gob.NewEncoder(out)
	for {
		var j Job
		if err := from.Decode(&j); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		var r Result
		if r.Ticks, err = h.run(&j); err != nil {
			r.Err, r.Taken, r.Alone = err.Error(), errors.Is(err, ErrPage), errors.Is(err, ErrAlone)
		}
		if err := to.Encode(&r); err != nil {
			return err
		}
	}
}
