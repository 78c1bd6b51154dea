package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
	"kprobesim/gdb"
	"kprobesim/internal/clock"
	"kprobesim/workloads"
)

func (a *app) gdbCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "gdb FILE",
		Short: "Step through a point of an experiment by gdb, forwards and backwards",
		Long: `Run a point of an experiment under gdb. The command prints how gdb connects, and the machine waits before its first
instruction. CPUs are threads. Breakpoints are not written into guest memory, and all times are those of a run without
gdb. reverse-stepi, reverse-continue and the like go backwards, and "monitor help" lists commands for times, caches,
phases and probes. When gdb detaches the run goes on to its end.`,
	}
	listen := c.Flags().String("listen", anyPort, "address of this host on which gdb is waited for")
	a.onPoint(c, "debug", func(pt *schema.Point) error {
		if pt.Linux != nil {
			return fail(exitUsage, fmt.Errorf("kind %s boots a packaged kernel: look at it by `kprobesim boot --gdb %s`", pt.Kind, anyPort))
		}
		symbols, err := workloads.Open(pt.Image.Name)
		if err != nil {
			return fail(exitUsage, err)
		}
		return a.debug(*listen, symbols, false, pointRun(pt))
	})
	_ = c.Flags().MarkHidden(pointLimit) // somebody who looks at a machine may take his time
	return c
}

// anyPort has the host choose a port.
const anyPort = "127.0.0.1:0"

// pointRun runs a point.
func pointRun(pt *schema.Point) gdb.Run {
	return func(_ clock.Ticks, attach gdb.Attach) error {
		one := *pt
		one.Halt, one.Attach = nil, attach
		_, err := kinds.Measure(&one)
		return err
	}
}

// debug waits for gdb, and lets it look at a run. Symbols are an ELF file for gdb.
func (a *app) debug(listen string, symbols []byte, toEnd bool, run gdb.Run) error {
	l, err := loopback(listen)
	if err != nil {
		return fail(exitUsage, err)
	}
	defer l.Close()
	file, err := symbolFile(symbols)
	if err != nil {
		return fail(exitFailed, err)
	}
	defer os.Remove(file)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	fmt.Fprintf(a.err, "gdb is waited for; connect by:\n  gdb-multiarch -ex 'target remote %s' %s\n", l.Addr(), file)
	conn, err := l.Accept()
	if err != nil {
		return fail(exitFailed, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // the session ends as if gdb were gone, and the file with it
	_ = l.Close()                                               // one gdb is enough
	return fail(exitFailed, gdb.Serve(conn, run, a.err, toEnd))
}

// loopback listens on an address that only this host can reach: who connects reads and writes all of the guest.
func loopback(address string) (net.Listener, error) {
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("address %q for gdb: %w: write one such as %s", address, err, anyPort)
	}
	if !at.IP.IsLoopback() {
		return nil, fmt.Errorf("address %q for gdb: other hosts could reach it: write one such as %s", address, anyPort)
	}
	return net.ListenTCP("tcp", at)
}

// symbolFile writes an ELF file for gdb, which reads it when it starts.
func symbolFile(b []byte) (string, error) {
	f, err := os.CreateTemp("", "kprobesim-*.elf")
	if err != nil {
		return "", err
	}
	_, err = f.Write(b)
	return f.Name(), errors.Join(err, f.Close())
}
