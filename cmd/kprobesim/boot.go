package main

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kprobesim/boards/pc"
	"kprobesim/boards/vexpress"
	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/running"
	"kprobesim/gdb"
	kernel "kprobesim/image/linux"
	"kprobesim/internal/clock"
	"kprobesim/internal/host"
	"kprobesim/internal/kept"
	"kprobesim/machines"
	"kprobesim/results/outdir"
	"kprobesim/sim"
)

// bootDate is in November 2023, in seconds since 1970: any day on which the kernels were in use will do.
const bootDate = 1_700_000_000

const treeHelp = "for a kernel of ARM: the device tree of the board (default: vexpress-v2p-ca15_a7.dtb beside the kernel, or where its package has it)"

// bootOptions holds the options of `boot`.
type bootOptions struct {
	kernel, initrd, tree, command, machine, console string
	snapshot, from                                  string
	files                                           []string
	stop                                            distro.Stop
	memory, cpus                                    int
	seconds                                         float64
	date                                            int64
	untimed, appended                               bool
	reads                                           bool // the kernel is read, and nothing is booted
	gdb                                             string
	limit                                           *running.Limit
}

func (a *app) bootCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "boot",
		Short: "Boot the kernel of a distribution, as packaged",
		Long: `Boot a kernel (--kernel vmlinuz) on the simulated processor of a machine description, with the devices of an
old PC around it, and with --cpus N of them, which the kernel starts; or a kernel of ARM on a Versatile Express board. The console is printed as it comes. Without --initrd the initial file system holds a small
/init, which prints a line and switches the machine off, and what --file adds.

A boot ends when the kernel halts or resets the machine, or at --until or --until-text. Two boots with the
same options are the same, byte by byte.

Exit code 1 says that the kernel panicked, ended before what --until names, or took longer than --seconds.`,
		Args: cobra.NoArgs,
	}
	var o bootOptions
	o.limit = limitFlag(c, hostLimit)
	f := c.Flags()
	f.StringVar(&o.kernel, "kernel", "", "the kernel: a vmlinuz, or a vmlinux (ELF)")
	f.StringVar(&o.initrd, "initrd", "", "initial file system, as the kernel takes it (default: one with a small /init)")
	f.StringArrayVar(&o.files, "file", nil, "NAME=PATH: another file of the default initial file system; an executable one stays so (may be repeated)")
	f.StringVar(&o.tree, "dtb", "", treeHelp)
	f.StringVar(&o.command, "append", distro.DefaultCommand, "parameters of the kernel")
	f.StringVar(&o.machine, "machine", "", "machine description (default: xeon-e5410, or tc2-cortex-a15 for a kernel of ARM)")
	f.IntVar(&o.cpus, "cpus", 1, "how many CPUs, 1 to 32")
	f.IntVar(&o.memory, "memory", distro.DefaultRAM>>20, "memory in MiB")
	f.Float64Var(&o.seconds, "seconds", distro.DefaultBudget, "simulated seconds after which the boot has failed")
	f.Int64Var(&o.date, "date", bootDate, "what the clock says when the machine is switched on, in seconds since 1970")
	f.StringVar(&o.stop.Symbol, "until", "", "end when the kernel has begun to execute the function of this name")
	f.StringVar(&o.stop.Text, "until-text", "", "end when the console has printed this text")
	f.StringVar(&o.console, "console", "", "file for what the kernel prints, in place of the terminal")
	f.StringVar(&o.snapshot, "snapshot", "", "write the machine to this file at the end, to go on from there")
	f.StringVar(&o.from, "from", "", "go on from a file of --snapshot, with the same kernel, machine, number of CPUs and memory")
	f.BoolVar(&o.untimed, "untimed", false, "execute without the cost model, every instruction in a cycle: quicker, for the way to --snapshot")
	f.StringVar(&o.gdb, "gdb", "", "wait for gdb on this address of this host ("+anyPort+" for any port) before the first instruction")
	c.RunE = func(c *cobra.Command, _ []string) error {
		o.appended = c.Flags().Changed("append")
		return a.boot(&o)
	}
	return c
}

// boot does all of it.
func (a *app) boot(o *bootOptions) error {
	c, mach, err := a.bootConfig(o)
	if err != nil {
		return fail(exitUsage, err)
	}
	c.Print = func(_ *sim.Machine, s string) {
		fmt.Fprint(a.out, strings.ReplaceAll(s, "\r", "")) // kernels send one before each end of a line
	}
	if o.gdb != "" {
		return a.debug(o.gdb, gdb.Symbols(c.Kernel.Image), false, o.debugged(c))
	}
	if o.console != "" {
		c.Print = newBootProgress(a.err).print
	}
	var ram host.Pages
	defer func() { _ = ram.Free() }() // the host takes it back anyway
	c.Zeroed = ram.Zeroed
	start := time.Now()
	m, err := o.run(c, o.stop)
	if m == nil {
		return fail(exitUsage, err)
	}
	if err != nil && m.CPU(0).Now() >= c.Budget {
		err = fmt.Errorf("boot: %g simulated seconds have passed, and --seconds gives it no more: %w", o.seconds, err)
	}
	if o.console == "" && !strings.HasSuffix(m.Console(), "\n") {
		fmt.Fprintln(a.err) // the end came within a line
	}
	a.bootSummary(m, mach, time.Since(start))
	if o.console != "" {
		err = errors.Join(err, outdir.WriteFile(o.console, []byte(m.Console())))
	}
	if o.snapshot != "" && err == nil {
		b, failed := distro.Snapshot(c, m)
		if failed == nil {
			failed = outdir.WriteFile(o.snapshot, b)
		}
		err = failed
	}
	return fail(exitFailed, errors.Join(err, o.reached(m.Ended())))
}

// run boots a machine under the limit of host time.
func (o *bootOptions) run(c distro.Config, stop distro.Stop) (*sim.Machine, error) {
	halt, done := o.limit.Begin()
	defer done()
	c.Halt = halt
	return distro.Run(c, stop)
}

// bootConfig reads the files that a boot takes.
func (a *app) bootConfig(o *bootOptions) (c distro.Config, mach *machines.Machine, err error) {
	if o.kernel == "" {
		return c, nil, errors.New("name the kernel by --kernel FILE")
	}
	if o.cpus < 1 {
		return c, nil, errors.New("boot: --cpus must be 1 or more")
	}
	if o.memory < 1 || !(o.seconds > 0 && o.seconds <= 1e6) { // neither holds of what is no number
		return c, nil, errors.New("boot: --memory and --seconds must be positive, and the latter at most a million")
	}
	b, err := os.ReadFile(o.kernel)
	if err != nil {
		return c, nil, err
	}
	if c.Kernel, err = kernel.Read(o.kernel, b, kept.Kernels()); err != nil {
		return c, nil, err
	}
	if mach, err = a.loader.Machine(cmp.Or(o.machine, defaultMachine(c.Kernel)), "", nil); err != nil {
		return c, nil, err
	}
	if err := suits(mach, c.Kernel); err != nil {
		return c, nil, err
	}
	c.CPU, c.TimerHz, c.Board, c.Kept = mach.CPU, mach.TimerHz, pc.Legacy{Date: o.date}, kept.Boots()
	c.Untimed = o.untimed
	c.CPUs, c.RAM, c.Command = o.cpus, o.memory<<20, o.command
	if err := o.onBoard(&c); err != nil {
		return c, nil, err
	}
	c.Budget = clock.FromCycles(int64(o.seconds * float64(mach.CPU.Hz)))
	if o.from != "" {
		if c.From, err = os.ReadFile(o.from); err != nil {
			return c, nil, err
		}
	}
	c.Initrd, err = o.initialFiles(c.Kernel)
	return c, mach, err
}

// onBoard puts a kernel on its board.
func (o *bootOptions) onBoard(c *distro.Config) (err error) {
	if !o.appended {
		c.Command = distro.CommandOf(distro.ISA(c.Kernel), o.cpus)
	}
	switch arm := c.Kernel.Image.Machine == elf.EM_ARM; {
	case !arm && o.tree != "":
		return errors.New("boot: --dtb is for kernels of ARM")
	case !arm || o.reads:
		return nil
	}
	tree, err := planning.TreeFile(o.tree, o.kernel, c.Kernel.Version())
	if err != nil {
		return fmt.Errorf("--dtb: %w", err)
	}
	c.Board = vexpress.Board{}
	c.Tree, err = os.ReadFile(tree)
	return err
}

// defaultMachine is where a kernel boots that is given no machine.
func defaultMachine(k *kernel.Kernel) string {
	if k.Image.Machine == elf.EM_ARM {
		return "tc2-cortex-a15"
	}
	return "xeon-e5410"
}

// suits refuses a machine of another instruction set. Where two widths of one have the same numbers, a machine boots the
// kernels of both.
func suits(mach *machines.Machine, k *kernel.Kernel) error {
	isa := distro.ISA(k)
	if mach.CPU.Check(isa) == nil {
		return nil
	}
	return fmt.Errorf("machine %s is of %s, and the kernel is of %s: choose another by --machine (`kprobesim list machines`)",
		mach.Name, mach.ISA, isa.Name)
}

// initialFiles is the initial file system.
func (o *bootOptions) initialFiles(k *kernel.Kernel) ([]byte, error) {
	if o.initrd != "" {
		if len(o.files) > 0 {
			return nil, errors.New("boot: --file adds to the default initial file system, and --initrd replaces it: use one of them")
		}
		return os.ReadFile(o.initrd)
	}
	first, err := distro.First(k)
	if err != nil {
		return nil, err
	}
	files, folders := []distro.File{first}, map[string]bool{}
	for _, f := range o.files {
		name, from, ok := strings.Cut(f, "=")
		if name = strings.TrimPrefix(path.Clean("/"+name), "/"); !ok || name == "" {
			return nil, fmt.Errorf("boot: --file %s: write NAME=PATH", f)
		}
		next, err := readFile(name, from)
		if err != nil {
			return nil, err
		}
		files = append(addFolders(files, folders, name), next)
	}
	return distro.Initrd(files), nil
}

// readFile reads a file of the initial file system; a program stays one.
func readFile(name, from string) (distro.File, error) {
	b, err := os.ReadFile(from)
	if err != nil {
		return distro.File{}, err
	}
	st, err := os.Stat(from)
	mode := uint32(distro.ModeFile)
	if err == nil && st.Mode()&0o111 != 0 {
		mode = distro.ModeProgram
	}
	return distro.File{Name: name, Mode: mode, Data: b}, err
}

// addFolders adds the folders that a file lies in, each once.
func addFolders(files []distro.File, have map[string]bool, name string) []distro.File {
	for i, c := range name {
		if folder := name[:i]; c == '/' && !have[folder] {
			have[folder] = true
			files = append(files, distro.File{Name: folder, Mode: distro.ModeFolder})
		}
	}
	return files
}

// bootSummary says how the boot went, on the error stream: the host's time is never the same.
func (a *app) bootSummary(m *sim.Machine, mach *machines.Machine, took time.Duration) {
	n, end := uint64(0), m.Ended()
	for i := range m.CPUs() {
		n += m.CPU(i).Counters().Instructions
	}
	if end == "" {
		end = "failure"
	}
	fmt.Fprintf(a.err, "%s: ended by %s at %s, %d instructions in %.6f simulated seconds (%.1f million a second of the host)\n",
		mach.Name, end, m.Image().SymbolText(m.CPU(0).PC()), n,
		float64(m.CPU(0).Now().Cycles())/float64(mach.CPU.Hz), float64(n)/took.Seconds()/1e6)
	var all []cpus.CPU
	for i := range m.CPUs() {
		all = append(all, m.CPU(i))
	}
	refusals(a.err, all, m.Image().SymbolText)
}

// refusals lists what the kernel asked CPUs for in vain. Kernels ask for much that a processor may lack, so that this is no
// failure by itself. What was told of another CPU is left out.
func refusals(w io.Writer, all []cpus.CPU, symbol func(pc uint64) string) {
	told := map[string]bool{}
	for i, c := range all {
		who := ""
		if i > 0 {
			who = fmt.Sprintf("cpu %d: ", i)
		}
		if n := c.Counters(); n.Unmodelled > 0 {
			fmt.Fprintf(w, "%s%d instructions are not modelled and were refused, the last %s\n", who, n.Unmodelled, n.LastUnknown)
		}
		r, ok := c.(cpus.Refuser)
		if !ok {
			continue
		}
		for _, r := range r.Refusals() {
			if !told[r.Name] {
				told[r.Name] = true
				fmt.Fprintf(w, "%srefused: %s, %d times, first at %s\n", who, r.Name, r.Count, symbol(r.PC))
			}
		}
	}
}

// reached is an error when the boot ended before what it was to reach.
func (o *bootOptions) reached(end string) error {
	switch {
	case end == distro.Panicked:
		return errors.New("boot: the kernel panicked: its last words are on the console")
	case end == "" || end == distro.AtSymbol || end == distro.AtText:
		return nil
	case o.stop.Symbol != "":
		return fmt.Errorf("boot: the machine ended (%s) before the kernel came to %s", end, o.stop.Symbol)
	case o.stop.Text != "":
		return fmt.Errorf("boot: the machine ended (%s) before the console printed %q", end, o.stop.Text)
	}
	return nil
}
