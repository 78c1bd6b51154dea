package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"kprobesim/distro"
	"kprobesim/results"
	"kprobesim/results/measured"
)

// measureKVM has a kernel insert the module under qemu, on this host's processor.
func (a *app) measureKVM(o *measureOptions, host hardware) error {
	if err := host.check(); err != nil {
		return fail(exitUsage, fmt.Errorf("measure: %w", err))
	}
	machine, err := nameOfMachine(o.machine)
	if err != nil {
		return fail(exitUsage, fmt.Errorf("measure: %w", err))
	}
	i, err := o.insertion("")
	if err != nil {
		return fail(exitUsage, fmt.Errorf("measure: %w", err))
	}
	console, err := underQemu(o.kernel, i.initrd, qemuTime, "-accel", "kvm", "-cpu", "host")
	if err != nil {
		return fail(exitFailed, fmt.Errorf("measure: %w", err))
	}
	return a.keepMeasured(o, console, machine, results.Measured, "measured-kvm", i.inputs...)
}

// qemuTime is more than a boot and the module take on a processor.
const qemuTime = 10 * time.Minute

// underQemu boots a kernel under qemu until the module has printed its table, and returns the console.
func underQemu(kernel string, initrd []byte, limit time.Duration, accelerator ...string) (string, error) {
	program, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		return "", errors.New("no qemu-system-x86_64: install it (Debian: qemu-system-x86)")
	}
	dir, err := os.MkdirTemp("", "kprobesim-measure")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir) // what stays behind is the system's to clean
	files := filepath.Join(dir, "initrd")
	if err := os.WriteFile(files, initrd, 0o600); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c := exec.CommandContext(ctx, program, append([]string{
		"-kernel", kernel, "-initrd", files, "-append", distro.DefaultCommand, "-display", "none",
		"-serial", "stdio", "-monitor", "none", "-no-reboot", "-m", "512",
	}, accelerator...)...)
	w := &untilEnd{done: cancel}
	c.Stdout, c.Stderr = w, w
	err = c.Run()
	if w.ended {
		return w.text.String(), nil // it was stopped because it was done
	}
	said := strings.ReplaceAll(w.text.String(), "\r", "")
	return "", fmt.Errorf("qemu ended (%w) before the module had printed its table; its last words:\n%s", errors.Join(err, ctx.Err()), said[max(0, len(said)-500):])
}

// untilEnd keeps a console, and calls done when the table is whole or cannot come any more.
type untilEnd struct {
	text  strings.Builder
	ended bool
	done  func()
}

// Write implements io.Writer.
func (w *untilEnd) Write(b []byte) (int, error) {
	w.text.Write(b) // never fails
	all := w.text.String()
	if _, behind, ok := strings.Cut(all, measured.End); ok && strings.Contains(behind, "\n") {
		w.ended = true
		w.done()
	} else if strings.Contains(all, "System halted") || strings.Contains(all, "end Kernel panic") {
		w.done() // without ACPI a machine that is switched off goes on waiting
	}
	return len(b), nil
}
