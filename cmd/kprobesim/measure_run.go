package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"kprobesim/boards/pc"
	"kprobesim/distro"
	"kprobesim/experiments"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/running"
	kernel "kprobesim/image/linux"
	"kprobesim/internal/clock"
	"kprobesim/internal/kept"
	"kprobesim/machines"
	"kprobesim/results"
	"kprobesim/results/measured"
	"kprobesim/results/outdir"
	"kprobesim/sim"
)

// simulatedParams are enough where each repeat of a loop takes the same time.
const simulatedParams = "calls=50 repeats=3"

// measureSeconds is simulated time behind which the module has failed.
const measureSeconds = 600

// insertion is a kernel with the files that insert the module.
type insertion struct {
	kernel *kernel.Kernel
	initrd []byte
	inputs []outdir.Input
}

// insertion reads the kernel and its module, which is built where none is named.
func (o *measureOptions) insertion(params string) (*insertion, error) {
	b, err := experiments.ReadLimited(o.kernel)
	if err != nil {
		return nil, err
	}
	i := &insertion{inputs: []outdir.Input{{Kind: "kernel", Name: filepath.Base(o.kernel), Hash: outdir.Hash(b)}}}
	if i.kernel, err = kernel.Read(o.kernel, b, kept.Kernels()); err != nil {
		return nil, err
	}
	module, err := o.built(i.kernel.Version())
	if err != nil {
		return nil, err
	}
	i.inputs = append(i.inputs, outdir.Input{Kind: "module", Name: distro.MeasureModule + ".ko", Hash: outdir.Hash(module)})
	if o.params != "" {
		params = o.params
	}
	files, err := distro.Inserting(i.kernel.Image.Bits, distro.MeasureModule, module, params)
	i.initrd = distro.Initrd(files)
	return i, err
}

// built is the module for a kernel.
func (o *measureOptions) built(release string) ([]byte, error) {
	if o.module != "" {
		return experiments.ReadLimited(o.module)
	}
	headers := planning.Headers(o.kernel, release)
	if headers == "" {
		return nil, fmt.Errorf("no headers of the kernel %s, or no make and gcc-12: install them, or name the built module by --module FILE", release)
	}
	return kinds.BuildModule(distro.MeasureModule, headers)
}

// measureSimulated has a kernel insert the module in the simulator.
func (a *app) measureSimulated(o *measureOptions) error {
	i, err := o.insertion(simulatedParams)
	if err != nil {
		return fail(exitUsage, fmt.Errorf("measure: %w", err))
	}
	mach, err := a.loader.Machine(cmp.Or(o.machine, "xeon-e5410"), "", nil)
	if err == nil {
		err = suits(mach, i.kernel)
	}
	if err != nil {
		return fail(exitUsage, err)
	}
	if mach.Measured != "" {
		o.fitted = mach.FittedOn()
	}
	console, err := a.simulate(i, mach, o.limit)
	if err != nil {
		return fail(exitFailed, fmt.Errorf("measure: %w", err))
	}
	return a.keepMeasured(o, console, mach.Name, results.Simulated, "simulated", i.inputs...)
}

// simulate has a kernel insert the module on a simulated machine, and returns its console.
func (a *app) simulate(i *insertion, mach *machines.Machine, limit *running.Limit) (string, error) {
	halt, done := limit.Begin()
	defer done()
	c := i.config(mach)
	c.Halt, c.Print = halt, newBootProgress(a.err).print
	m, err := distro.RunTimed(c, measured.Begin)
	if err != nil {
		return "", fmt.Errorf("%w%s", err, lastWords(m))
	}
	if !strings.Contains(m.Console(), measured.Begin) {
		return "", fmt.Errorf("the kernel did not insert the module%s", lastWords(m))
	}
	return m.Console(), nil
}

// config is the simulated PC that inserts the module.
func (i *insertion) config(mach *machines.Machine) distro.Config {
	return distro.Config{
		Kernel: i.kernel, CPU: mach.CPU, TimerHz: mach.TimerHz, Board: pc.Legacy{Date: bootDate}, Command: distro.DefaultCommand,
		Initrd: i.initrd, Budget: clock.FromCycles(measureSeconds * mach.CPU.Hz),
	}
}

// lastWords returns the end of a kernel's console.
func lastWords(m *sim.Machine) string {
	if m == nil {
		return ""
	}
	const keep = 500
	text := strings.ReplaceAll(m.Console(), "\r", "")
	return "; the end of its console:\n" + text[max(0, len(text)-keep):]
}

// hardware tells whether this host's processor runs guests itself.
type hardware struct{ device, processor string }

// thisHardware is where Linux tells of it.
func thisHardware() hardware { return hardware{"/dev/kvm", "/proc/cpuinfo"} }

// check refuses a host on which no processor takes the exceptions of a guest.
func (h hardware) check() error {
	f, err := os.OpenFile(h.device, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%w: --kvm needs a host that runs guests on its processor; insert the module into its own kernel (--write DIR)", err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	b, err := os.ReadFile(h.processor)
	if err != nil {
		return err
	}
	for l := range strings.Lines(string(b)) {
		name, flags, _ := strings.Cut(l, ":")
		if strings.TrimSpace(name) == "flags" {
			for _, f := range strings.Fields(flags) {
				if f == "vmx" || f == "svm" {
					return nil
				}
			}
		}
	}
	return errors.New("/dev/kvm is there, and this processor has neither VMX nor SVM: exceptions of a guest are carried out by software, so its times are not those of a processor; " +
		"insert the module into a kernel of a real machine (--write DIR)")
}
