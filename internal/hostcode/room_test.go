package hostcode

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"unsafe"

	"kprobesim/internal/host"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// room returns a room, or skips the test where the host has none.
func room(t *testing.T) *Room {
	t.Helper()
	r := NewRoom(1 << 16)
	if r == nil {
		hosttools.Unable(t, "executing code of the host", "it needs Linux on x86-64, and memory that may be executed")
	}
	return r
}

// TestCall counts down in a loop, with jumps to labels before and behind and one to a place, and collects garbage
// meanwhile.
func TestCall(t *testing.T) {
	r := room(t)
	var a Asm
	a.Begin(r)
	a.JmpReg(RAX)
	a.Align(16)
	enter := r.Address(r.Keep(a.Len()))
	a.Begin(r)
	a.Ret()
	leave := r.Keep(a.Len())

	a.Begin(r)
	again, end := a.NewLabel(), a.NewLabel()
	a.Bind(again)
	a.OpMemImm(Add, 8, At(R15, 8), 3)
	a.OpMemImm(Sub, 8, At(R15, 0), 1)
	a.Jcc(Equal, end)
	a.Jmp(again)
	a.Bind(end)
	a.Load(8, RAX, At(R15, 16))
	a.JmpTo(leave)
	a.Finish()
	place := r.Keep(a.Len())
	done := make(chan bool)
	go func() {
		for range 20 {
			runtime.GC()
		}
		close(done)
	}()
	for range 2000 {
		result := new(int)
		x := struct {
			left, sum uint64
			result    *int
		}{1000, 0, result}
		got := Call(enter, r.Address(place), unsafe.Pointer(&x))
		require.Need(t, x.left == 0 && x.sum == 3000 && got == uint64(uintptr(unsafe.Pointer(result))), "left %d, sum %d", x.left, x.sum)
	}
	<-done
}

// TestMax has the larger of a number in a register and one in memory, of both signs.
func TestMax(t *testing.T) {
	r := room(t)
	var a Asm
	a.Begin(r)
	a.Load(8, Local1, At(With, 0))
	a.MaxLoad(Local1, At(With, 8))
	a.Mov(8, Main, Local1)
	a.Ret()
	a.Finish()
	code := r.Address(r.Keep(a.Len()))
	for _, x := range []int64{-1 << 63, -5, 0, 7, 1<<63 - 1} {
		for _, y := range []int64{-1 << 63, -6, -5, 0, 8, 1<<63 - 1} {
			in := [2]int64{x, y}
			require.Equal(t, int64(Call(code, 0, unsafe.Pointer(&in))), max(x, y), "the larger of %d and %d", x, y)
		}
	}
}

// TestRewrittenCode executes code that takes the place of other code, again and again.
func TestRewrittenCode(t *testing.T) {
	r := room(t)
	var a Asm
	for i := range uint64(2000) {
		r.Empty(0)
		a.Begin(r)
		a.Const(Main, i)
		a.Ret()
		code := r.Address(r.Keep(a.Len()))
		require.Equal(t, r.Used(), a.Len(), "bytes used")
		got := Call(code, 0, nil)
		require.Need(t, got == i, "code that returns %d returned %d", i, got)
	}
}

// TestNoCode has no room where the setting forbids one.
func TestNoCode(t *testing.T) {
	defer func() { host.Code.Off = false }()
	if host.Code.Off = true; NewRoom(1) != nil {
		t.Error("there is a room")
	}
}

// TestHostForbids runs in a process of its own in which the host refuses memory that can be executed: there is no room.
func TestHostForbids(t *testing.T) {
	if os.Getenv("HOSTCODE_FORBIDDEN") != "" {
		hosttools.ForbidCode(t)
		require.That(t, NewRoom(1<<16) == nil, "there is a room")
		return
	}
	c := exec.Command(os.Args[0], "-test.run=^TestHostForbids$", "-test.v")
	c.Env = append(os.Environ(), "HOSTCODE_FORBIDDEN=1")
	out, err := c.CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Error(err)
	}
}
