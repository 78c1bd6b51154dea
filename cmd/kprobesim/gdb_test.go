package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/gdb"
	"kprobesim/gdb/protocol"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// debugScript has the commands of a session, and debugReplies the answers of gdb to them, in this order.
const debugScript = `
set width 0
break handler_shared_count
continue
monitor probes
monitor phases
stepi
reverse-stepi
printf "hits %d\n", (int)handler_shared_hits
delete
watch handler_shared_hits
continue
continue
reverse-continue
reverse-continue
delete
break TARGET
reverse-continue
info threads
monitor cycles
detach
`

var debugReplies = []string{
	`Breakpoint 1, handler_shared_count`, `k  TARGET\+0x0`, `dispatch +\d`, `hits 0`,
	`New value = 1`, `New value = 2`, `Old value = 2\s+New value = 1`, `Old value = 1\s+New value = 0`,
	`Breakpoint 3, TARGET`, `\* 1 .*cpu 0.*TARGET`, `at TARGET\+0x0`,
}

// TestRealGDB holds sessions of each instruction set with the real gdb.
func TestRealGDB(t *testing.T) {
	program := hosttools.Need(t, "gdb-multiarch", "gdb-multiarch", "sessions with the real gdb")
	for _, x := range []struct{ experiment, target string }{
		{"overhead-xeon-e5410-x86_64", "bench_target"},
		{"overhead-xeon-e5410-i386", "bench_target"},
		{"overhead-power5", "bench_target"},
		{"overhead-tc2-a15", "bench_nop"},
	} {
		t.Run(x.experiment, func(t *testing.T) {
			said := debugSession(t, program, strings.ReplaceAll(debugScript, "TARGET", x.target),
				"gdb", x.experiment, "--point", "k", "--set", "points.k.handler=shared_count")
			holds(t, said, x.target, debugReplies...)
		})
	}
}

// holds looks for replies in what gdb says, each behind the one before it.
func holds(t *testing.T, said, target string, replies ...string) {
	t.Helper()
	rest := said
	for _, r := range replies {
		at := regexp.MustCompile(strings.ReplaceAll(r, "TARGET", target)).FindStringIndex(rest)
		require.Need(t, at != nil, "no %q behind the reply before it, in\n%s", r, said)
		rest = rest[at[1]:]
	}
}

// TestRealGDBAtAViolation holds that a schedule stops where it goes wrong, behind the instruction that the replay shows last,
// and that gdb goes back from there.
func TestRealGDBAtAViolation(t *testing.T) {
	program := hosttools.Need(t, "gdb-multiarch", "gdb-multiarch", "a race under the real gdb")
	said := debugSession(t, program, "monitor cycles\nreverse-stepi\nmonitor cycles\nbreak work_frame\nreverse-continue\nmonitor probes\ndetach\n",
		"races", "optimize", "--variant", "breakpoint", "--mutant", "bp-skip-sync-2", "--replay", "3", "--gdb")
	holds(t, said, "work_frame", `cpu 2: .* at __detours_start\+0x0`, `cpu 2: .* at TARGET\+0x0`, `hit Breakpoint 1, TARGET`, `k  TARGET\+0x0`)
}

// TestRealGDBInPackagedKernels holds symbols, a breakpoint and a step back in the boot of a distribution's kernel.
func TestRealGDBInPackagedKernels(t *testing.T) {
	program := hosttools.Need(t, "gdb-multiarch", "gdb-multiarch", "a boot under the real gdb")
	for _, file := range hosttools.Kernels(t, "vmlinuz*", "boots under the real gdb") {
		said := debugSession(t, program, "break start_kernel\ncontinue\nstepi\nmonitor cycles\nreverse-stepi\nmonitor cycles\nmonitor probes\nkill\n",
			"boot", "--kernel", file, "--gdb", anyPort)
		holds(t, said, "", `Breakpoint 1, .*start_kernel`, `at (start_kernel\+0x5|__fentry__)`, `at start_kernel\+0x0`, `it is a packaged one`)
	}
}

// connection finds in what a command says how gdb connects.
var connection = regexp.MustCompile(`'target remote (\S+)' (\S+)\n`)

// waiting runs a command that waits for gdb, and returns at which address, the file with the symbols, and what gives the exit
// code.
func waiting(t *testing.T, args ...string) (address, symbols string, code <-chan int) {
	t.Helper()
	r, w := io.Pipe()
	over := make(chan int, 1)
	go func() {
		over <- newApp(io.Discard, w).run(args)
		_ = w.Close()
	}()
	var said bytes.Buffer
	var how [][]byte
	for b := make([]byte, 4096); how == nil; how = connection.FindSubmatch(said.Bytes()) {
		n, err := r.Read(b)
		said.Write(b[:n])
		require.Need(t, err == nil, "%v waits for nobody: %s", args, &said)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }() // what comes at the end
	return string(how[1]), string(how[2]), over
}

// TestInterruptedGDB ends a command that waits for gdb, and one whose gdb is connected. No file stays.
func TestInterruptedGDB(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("does not apply: no signals")
	}
	for _, connected := range []bool{false, true} {
		address, symbols, code := waiting(t, "gdb", experiment, "--point", "k")
		if connected {
			conn := require.Must(net.Dial("tcp", address))(t)
			defer conn.Close()
			c := protocol.New(conn)
			require.NoError(t, c.Send("?"))
			require.Must(c.Receive())(t)
		}
		self := require.Must(os.FindProcess(os.Getpid()))(t)
		require.NoError(t, self.Signal(syscall.SIGTERM))
		require.Equal(t, <-code, exitFailed, "exit code")
		_, err := os.Stat(symbols)
		require.That(t, os.IsNotExist(err), "%s is still there: %v", symbols, err)
	}
}

// debugSession runs a command that waits for gdb, has gdb go through a script, and returns what gdb says.
func debugSession(t *testing.T, program, script string, args ...string) string {
	t.Helper()
	address, symbols, code := waiting(t, args...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	file := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(file, []byte("target remote "+address+"\n"+script), 0o600))
	cmd := exec.CommandContext(ctx, program, "-nx", "-batch", "-ex", "set height 0", "-ex", "set confirm off", "-x", file, symbols)
	out, err := cmd.CombinedOutput()
	require.Need(t, err == nil, "gdb: %v\n%s", err, out)
	require.Equal(t, <-code, exitOK, "%v: exit code", args)
	return string(out)
}

// TestDebuggedPointsMeasureTheSame holds what a point measures under a debugger, with a breakpoint that is hit and steps, against
// what it measures alone.
func TestDebuggedPointsMeasureTheSame(t *testing.T) {
	for _, x := range []struct{ experiment, point string }{
		{"overhead-xeon-e5410-x86_64", "r"}, {"overhead-power5", "k"}, {"overhead-tc2-a15", "k"},
	} {
		plan := require.Must(planning.NewLoader().Plan(x.experiment, nil))(t)
		pt := require.Must(plan.Point(x.point))(t)
		plain := require.Must(kinds.Measure(pt))(t)
		var debugged *kinds.Measurement
		here, there := net.Pipe()
		over := make(chan error, 1)
		go func() {
			over <- gdb.Serve(there, func(_ clock.Ticks, attach gdb.Attach) (err error) {
				one := *pt
				one.Attach = attach
				debugged, err = kinds.Measure(&one)
				return err
			}, io.Discard, false)
		}()
		fn, _ := pt.Image.Func(pt.Workload.Target)
		c := protocol.New(here)
		for _, packet := range []string{"Z0," + strconv.FormatUint(fn.Entry, 16) + ",4", "c", "s", "s", "c", "c", "D"} {
			require.NoError(t, c.Send(packet))
			require.NoError(t, require.Err(c.Receive()))
		}
		require.NoError(t, <-over)
		require.That(t, reflect.DeepEqual(plain, debugged), "%s %s: under a debugger %+v, alone %+v", x.experiment, x.point, debugged, plain)
	}
}
