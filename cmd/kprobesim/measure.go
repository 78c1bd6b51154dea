package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"kprobesim/distro"
	"kprobesim/experiments"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/internal/doc"
	"kprobesim/results"
	"kprobesim/results/formats"
	"kprobesim/results/measured"
	"kprobesim/results/outdir"
)

// measureOptions holds the options of `measure`.
type measureOptions struct {
	write, read            string
	kernel, module, params string
	machine, out           string
	kvm                    bool
	fitted                 []string // rows that the machine is fitted on
	limit                  *running.Limit
}

func (a *app) measureCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "measure",
		Short: "Measure what probes cost on a real machine, and the same in the simulator",
		Long: `Measure every kind of probe hit by a kernel module of this program. --write DIR writes its source. It is built and inserted on
the machine that is to be measured, and prints a table to the kernel's log. --read FILE makes a results directory of that log.

--kernel FILE has a packaged kernel insert the module in the simulator, on the processor of --machine, and --kvm has it under
qemu on this host's processor. The points have the same names everywhere, so that diff, table and report put them side by side:

	kprobesim measure --write m && make -C m && sudo insmod m/kprobesim_measure.ko && sudo dmesg > log.txt
	kprobesim measure --read log.txt --machine ./my.toml -o out/measured
	kprobesim measure --kernel /boot/vmlinuz-$(uname -r) --machine ./my.toml -o out/simulated
	kprobesim table out/measured out/simulated`,
		Args: cobra.NoArgs,
	}
	var o measureOptions
	o.limit = limitFlag(c, hostLimit)
	f := c.Flags()
	f.StringVar(&o.write, "write", "", "write the module's source to this folder")
	f.StringVar(&o.read, "read", "", "the log of a kernel that the module was inserted into")
	f.StringVar(&o.kernel, "kernel", "", "packaged kernel that is to insert the module in the simulator")
	f.BoolVar(&o.kvm, "kvm", false, "run the kernel under qemu on this host's processor in place of the simulator")
	f.StringVar(&o.module, "module", "", "the module, built for the kernel (default: built with its headers, if they are found)")
	f.StringVar(&o.params, "params", "", "parameters of the module, such as \"calls=100 repeats=5\" (default in the simulator: "+simulatedParams+")")
	f.StringVar(&o.machine, "machine", "", "machine description: of the simulated processor, or the one that a measured machine is compared with")
	f.StringVarP(&o.out, "out", "o", "", "directory for the results (default: measured, measured-kvm or simulated below out)")
	c.RunE = func(*cobra.Command, []string) error {
		if err := o.check(); err != nil {
			return fail(exitUsage, fmt.Errorf("measure: %w", err))
		}
		return a.measureProbes(&o)
	}
	return c
}

// check wants one thing to do.
func (o *measureOptions) check() error {
	n := 0
	for _, s := range []string{o.write, o.read, o.kernel} {
		if s != "" {
			n++
		}
	}
	switch {
	case n != 1:
		return errors.New("write one of --write DIR, --read FILE and --kernel FILE")
	case o.kernel == "" && (o.kvm || o.module != "" || o.params != ""):
		return errors.New("--kvm, --module and --params go with --kernel FILE")
	case o.write != "" && (o.machine != "" || o.out != ""):
		return errors.New("--write DIR writes the module alone: leave --machine and --out out")
	}
	return nil
}

// measureProbes does what the options say.
func (a *app) measureProbes(o *measureOptions) error {
	switch {
	case o.write != "":
		return fail(exitFailed, writeMeasure(o.write))
	case o.read != "":
		b, err := experiments.ReadLimited(o.read)
		if err != nil {
			return fail(exitUsage, fmt.Errorf("measure: %w", err))
		}
		machine, err := nameOfMachine(o.machine)
		if err != nil {
			return fail(exitUsage, fmt.Errorf("measure: %w", err))
		}
		input := outdir.Input{Kind: "log", Name: filepath.Base(o.read), Hash: outdir.Hash(b)}
		return a.keepMeasured(o, string(b), machine, results.Measured, "measured", input)
	case o.kvm:
		return a.measureKVM(o, thisHardware())
	}
	return a.measureSimulated(o)
}

// nameOfMachine is the name that records have of a machine description; "" stays.
func nameOfMachine(machine string) (string, error) {
	if machine == "" || !doc.IsPath(machine) {
		return machine, results.CheckField(machine + "-")
	}
	return nameOf(machine)
}

// writeMeasure writes the module's source. A folder with other files and without the module is left alone.
func writeMeasure(dir string) error {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 && !exists(filepath.Join(dir, distro.MeasureModule+".c")) {
		return fmt.Errorf("measure: %s has other files: name another folder", dir)
	}
	files, err := distro.ModuleFiles(distro.MeasureModule)
	if err != nil {
		return err
	}
	for _, f := range files[1:] { // behind the script for packaged headers
		name := f.Name
		if base := filepath.Base(name); !strings.HasSuffix(base, ".h") {
			name = base // at the top, where make and people look
		}
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), outdir.WriteFile(path, f.Data)); err != nil {
			return fmt.Errorf("measure: %w", err)
		}
	}
	return nil
}

// keepMeasured makes a results directory of a log, and prints its table.
func (a *app) keepMeasured(o *measureOptions, log, machine string, role results.Role, place string, inputs ...outdir.Input) error {
	t, err := measured.Read(log)
	if err != nil {
		return fail(exitUsage, fmt.Errorf("measure: %s: %w", placeOf(o), err))
	}
	s, err := t.Set(machine, role, o.fitted...)
	if err != nil {
		return fail(exitUsage, fmt.Errorf("measure: %w", err))
	}
	dir := o.out
	if dir == "" {
		dir = filepath.Join("out", place)
	}
	files, err := measuredFiles(t, s, log, role, inputs)
	if err == nil {
		err = outdir.WriteDir(dir, files)
	}
	if err != nil {
		return fail(exitFailed, err)
	}
	k, err := reports.Load(dir)
	if err != nil {
		return fail(exitFailed, err)
	}
	table := k.Table()
	table.Notes = append(table.Notes, t.Notes()...)
	a.print(table)
	fmt.Fprintf(a.out, "results are in %s\n", dir)
	return nil
}

// placeOf names where a table comes from.
func placeOf(o *measureOptions) string {
	if o.read != "" {
		return o.read
	}
	return "the console of " + filepath.Base(o.kernel)
}

// measuredFiles are the files of a results directory.
func measuredFiles(t *measured.Table, s *results.Set, log string, role results.Role, inputs []outdir.Input) (map[string][]byte, error) {
	about := formats.About{Name: measured.Experiment, Kind: measured.Experiment, Title: fmt.Sprintf("Probes timed by a module, %s, %s", s.Points()[0].Machine, role)}
	m := outdir.Manifest{Program: outdir.This(), Inputs: inputs, Sources: s.Sources()}
	for _, p := range s.Points() {
		m.Points = append(m.Points, outdir.PointStatus{Name: p.Probe, Status: outdir.StatusOK})
	}
	manifest, err := m.JSON()
	if err != nil {
		return nil, err
	}
	js, err := formats.JSON(s, about)
	if err != nil {
		return nil, err
	}
	keys := formats.Keys{"module figures": string(role)}
	for name, text := range t.Facts {
		keys["module "+name] = text
	}
	return map[string][]byte{
		outdir.ManifestName: manifest, reports.InputsName: keys.Text(), reports.ResultsName: formats.CSV(s), reports.JSONName: js,
		reports.ConsoleName: []byte(measured.Lines(log)), "bench.txt": formats.BenchText(s, formats.KindBench(about.Kind, s)),
	}, nil
}
