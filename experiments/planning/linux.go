package planning

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/distro/attaching"
	"kprobesim/experiments"
	"kprobesim/experiments/schema"
	"kprobesim/image"
	"kprobesim/image/linux"
	"kprobesim/internal/doc"
	"kprobesim/internal/kept"
	"kprobesim/results"
	"kprobesim/results/outdir"
	"kprobesim/targets"
)

// KernelFolder is the variable of the environment that names the directory with kernels of distributions.
const KernelFolder = "KPROBESIM_LINUX"

// linux plans the points of kinds with a packaged kernel. Without a kernel the plan says what it lacks.
func (p *planner) linux(root *doc.Node, pt schema.Point, e *schema.Experiment, c []doc.Setting) {
	pt.Linux = e.Linux
	pt.Linux.Attaching = slices.ContainsFunc(e.Probes, func(q schema.Probe) bool { return q.Linux.Attached() })
	pt.Target = targets.Find(p.l.Targets, pt.Machine.ISA)
	pt.Kernel.ISA, pt.Kernel.Era = pt.Machine.ISA, "linux"
	pt.Image = &schema.Image{Image: &image.Image{Name: "linux"}}
	if table := root.Get("linux"); table == nil || table.Get("append") == nil {
		pt.Linux.Command = distro.CommandOf(pt.Target.ISA, int(pt.Linux.CPUs))
		if w := pt.Linux.Working; w != nil && w.Disk.Path != "" {
			pt.Linux.Command = distro.WithDisk(pt.Linux.Command)
		}
	}
	file, err := kernelFile(root, e.Linux.Path, pt.Target.ISA)
	if err != nil {
		p.plan.Lacking = err
		p.points(root, pt, e, c, nil)
		return
	}
	k, err := p.l.kernel(file)
	if err == nil {
		err = k.read.Image.Match(pt.Target.ISA.Machine, pt.Target.ISA.Bits, pt.Target.ISA.Order)
	}
	if err != nil {
		p.errs.Join(at(root, "linux", "kernel"), fmt.Errorf("linux.kernel: %w", err))
		return
	}
	pt.Image = &k.Image
	pt.Kernel.Image, pt.Kernel.Era = k.Name, k.era()
	pt.Linux.Kernel, pt.Linux.Work, pt.Linux.Kept = k.read, &p.l.work, kept.Boots()
	p.l.depend("kernel", k.Name, k.Hash)
	if err := p.l.deviceTree(root, pt.Linux, k); err != nil {
		p.errs.Join(at(root, "linux", "dtb"), fmt.Errorf("linux.dtb: %w", err))
		return
	}
	if w := pt.Linux.Working; w != nil {
		if w.Disk.Path != "" && !strings.Contains(pt.Linux.Command, distro.DiskOption) {
			p.errs.Add(at(root, "linux", "append"), "linux.append: a kernel finds the disk with %s alone: add it", distro.DiskOption)
			return
		}
		err := p.l.root(root, pt.Linux.Working, toolsOf(e.Probes), k.read)
		if lack := (*lackingRoot)(nil); errors.As(err, &lack) {
			p.plan.Lacking = err
			p.points(root, pt, e, c, nil)
			return
		}
		if err != nil {
			p.errs.Join(at(root, "workload"), fmt.Errorf("workload.%w", err))
			return
		}
	} else if err := p.l.linuxModule(root, pt.Linux, file, pt.Kernel.Era); err != nil {
		p.errs.Join(at(root, "linux", "module"), fmt.Errorf("linux.module: %w", err))
		return
	}
	if err := p.l.userFiles(e.Probes, k); err != nil {
		p.errs.Join(at(root, "points"), fmt.Errorf("points: %w", err))
		return
	}
	p.leaveOutWays(e, k)
	if pt.Linux.Working == nil && pt.Linux.ModuleHash == "" {
		p.leaveOut(e, pt.Target.ISA, pt.Kernel.Era)
	}
	p.points(root, pt, e, c, nil)
}

// leaveOutWays takes the points out whose way to attach the kernel was built without, and notes which.
func (p *planner) leaveOutWays(e *schema.Experiment, k *packaged) {
	left := map[string][]string{} // by what they need
	var order []string
	e.Probes = slices.DeleteFunc(e.Probes, func(q schema.Probe) bool {
		needs := attaching.Lacks(q.Linux.What, k.has())
		if needs == "" && q.Called() {
			needs = attaching.LacksCalls(k.has())
		}
		if needs == "" {
			return false
		}
		if left[needs] == nil {
			order = append(order, needs)
		}
		left[needs] = append(left[needs], q.Name)
		return true
	})
	for _, needs := range order {
		p.note("left out: %s: the kernel %s", strings.Join(left[needs], ", "), needs)
	}
}

// has tells what ways to attach may need of a kernel.
func (k *packaged) has() attaching.Has {
	function := func(name string) bool {
		_, ok := k.read.Image.Symbol(name)
		return ok
	}
	return attaching.Has{Function: function, Types: k.read.Content("BTF") != nil}
}

// deviceTree reads what describes the board of a kernel of ARM: what the experiment names, or what came with the kernel.
func (l *Loader) deviceTree(root *doc.Node, x *schema.Linux, k *packaged) error {
	switch arm := k.read.Image.Machine == elf.EM_ARM; {
	case !arm && x.TreePath != "":
		return errors.New("it is for kernels of ARM: leave it out")
	case !arm:
		return nil
	}
	file, err := TreeFile(beside(folder(root, "linux", "dtb"), x.TreePath), k.Name, k.read.Version())
	if err != nil {
		return err
	}
	b, err := experiments.ReadLimited(file)
	if err != nil {
		return err
	}
	x.Tree, x.TreeHash = b, outdir.Hash(b)
	l.depend("device tree", file, x.TreeHash)
	return nil
}

// treeFile is the file in packages of kernels that describes the board.
const treeFile = "vexpress-v2p-ca15_a7.dtb"

// TreeFile finds the file with the device tree of the board for a kernel of ARM: the one that is named, or else one beside the
// kernel or where its package has it.
func TreeFile(named, kernel, release string) (string, error) {
	if named != "" {
		return named, nil
	}
	dir := filepath.Dir(kernel)
	for _, at := range []string{dir, filepath.Join(dir, "..", "usr", "lib", "linux-image-"+release)} {
		file := filepath.Join(at, treeFile)
		if _, err := os.Stat(file); err == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("a kernel of ARM needs the device tree of its board, and there is none beside it: name %s of its package", treeFile)
}

// kernelFile is the path of the kernel: that of the experiment, or the newest one of the machine's instruction set.
func kernelFile(root *doc.Node, path string, isa *cpus.ISA) (string, error) {
	if path != "" {
		return beside(folder(root, "linux", "kernel"), path), nil
	}
	dir := os.Getenv(KernelFolder)
	if dir == "" {
		return "", fmt.Errorf("no kernel of a distribution: unpack a package with one, such as a linux-image of Debian, and name the file "+
			"by linux.kernel=vmlinuz-VERSION, or the directory with vmlinuz* in the environment as %s", KernelFolder)
	}
	var files []string
	for _, pattern := range []string{"vmlinuz*", isa.Name + "/vmlinuz*"} {
		found, _ := outdir.Find(dir, pattern) // the pattern is well-formed
		files = append(files, found...)
	}
	slices.SortStableFunc(files, func(a, b string) int { return versions(filepath.Base(b), filepath.Base(a)) })
	for _, f := range files {
		if machineOf(f) == isa.Machine {
			return f, nil
		}
	}
	return "", fmt.Errorf("no kernel of %s: %s is %s, and has no such vmlinuz*; name one by linux.kernel", isa.Name, KernelFolder, dir)
}

// versions compares two names by the numbers in them, such as 6.1.0-9 and 6.1.0-56.
func versions(a, b string) int {
	for a != "" && b != "" {
		n, m := digits(a), digits(b)
		if n > 0 && m > 0 {
			x, y := strings.TrimLeft(a[:n], "0"), strings.TrimLeft(b[:m], "0")
			if d := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); d != 0 {
				return d
			}
			a, b = a[n:], b[m:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits is how many digits a text begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

// packaged is a kernel that was read once.
type packaged struct {
	schema.Image
	read *linux.Kernel
}

// kernel reads a kernel of a distribution once.
func (l *Loader) kernel(file string) (*packaged, error) {
	if k := l.kernels[file]; k != nil {
		return k, nil
	}
	b, err := experiments.ReadLimited(file)
	if err != nil {
		return nil, err
	}
	read, err := linux.Read(file, b, kept.Kernels())
	if err != nil {
		return nil, err
	}
	l.kernels[file] = &packaged{schema.Image{Image: read.Image, Hash: outdir.Hash(b)}, read}
	return l.kernels[file], nil
}

// era is the kernel's release as records name it.
func (k *packaged) era() string {
	if v := k.read.Version(); v != "" && results.CheckField(v) == nil {
		return v
	}
	return "linux"
}

// leaveOut takes the points out that need a module, and notes which.
func (p *planner) leaveOut(e *schema.Experiment, isa *cpus.ISA, release string) {
	var left []string
	e.Probes = slices.DeleteFunc(e.Probes, func(q schema.Probe) bool {
		out := q.Linux.Handler == schema.LinuxEmpty && q.Linux.What != schema.LinuxNone
		if out {
			left = append(left, q.Name)
		}
		return out
	})
	prefix := ""
	if isa.Machine == elf.EM_ARM {
		prefix = armTools
	}
	if len(left) > 0 {
		p.note("left out: %s, whose handler is that of a module: install the headers of the kernel, make and %sgcc-12, or put a built %s "+
			"beside the kernel", strings.Join(left, ", "), prefix, moduleName(release))
	}
}

// moduleName is the file of the module for a kernel, as it is looked for beside the kernel.
func moduleName(release string) string { return distro.EmptyModule + "-" + release + ".ko" }

// linuxModule reads the module that the experiment names, or the one that lies beside the kernel.
func (l *Loader) linuxModule(root *doc.Node, x *schema.Linux, kernel, release string) error {
	file := filepath.Join(filepath.Dir(kernel), moduleName(release))
	if x.Module != "" {
		file = beside(folder(root, "linux", "module"), x.Module)
	}
	b, err := experiments.ReadLimited(file)
	if errors.Is(err, fs.ErrNotExist) && x.Module == "" {
		return l.builtModule(x, kernel, release)
	}
	if err != nil {
		return err
	}
	x.ModuleFile, x.ModuleHash = b, outdir.Hash(b)
	l.depend("module", file, x.ModuleHash)
	return nil
}

// toolsOf lists the tools of points.
func toolsOf(probes []schema.Probe) (tools []*schema.UserTool) {
	for _, p := range probes {
		if p.Linux.Tool != nil {
			tools = append(tools, p.Linux.Tool)
		}
	}
	return tools
}

// userFiles reads the modules of points that insert one, and the object files of points that attach one. It says what is wrong
// with the latter before anything runs.
func (l *Loader) userFiles(probes []schema.Probe, k *packaged) (err error) {
	for _, p := range probes {
		m, o := p.Linux.Module, p.Linux.Object
		if m != nil {
			if m.File, err = experiments.ReadLimited(m.Path); err != nil {
				return fmt.Errorf("%s: file: %w", p.Name, err)
			}
			l.depend("module", m.Path, outdir.Hash(m.File))
		}
		if o == nil {
			continue
		}
		if o.File, err = objectFile(o.Path); err != nil {
			return fmt.Errorf("%s: file: %w", p.Name, err)
		}
		object, err := attaching.ReadObject(o.File, o.Choice)
		if err == nil {
			err = object.Lacks(k.has())
		}
		if err != nil {
			return fmt.Errorf("%s: file: %s: %w", p.Name, o.Path, err)
		}
		l.depend("object", o.Path, outdir.Hash(o.File))
	}
	return nil
}

// objectFile is the content of a file, or of an object of this program.
func objectFile(name string) ([]byte, error) {
	if doc.IsPath(name) {
		return experiments.ReadLimited(name)
	}
	return distro.Object(name)
}

// builtModule notes that the module is to be built, if it can be. What comes of it follows from its source and the
// release of the kernel.
func (l *Loader) builtModule(x *schema.Linux, kernel, release string) error {
	if x.Headers = Headers(kernel, release); x.Headers == "" {
		return nil
	}
	files, err := distro.ModuleFiles(distro.EmptyModule)
	all := []byte(release)
	for _, f := range files {
		all = append(all, f.Data...)
	}
	x.ModuleHash = outdir.Hash(all)
	l.use(outdir.Input{Kind: "module", Name: distro.EmptyModule + ".c", Hash: x.ModuleHash})
	return err
}

// machineOf is the instruction set of the kernel in a file, EM_NONE where it is none.
func machineOf(file string) elf.Machine {
	f, err := os.Open(file)
	if err != nil {
		return elf.EM_NONE
	}
	defer f.Close()
	head := make([]byte, linux.HeadSize)
	if _, err := io.ReadFull(f, head); err != nil {
		return elf.EM_NONE
	}
	return linux.Machine(head)
}
