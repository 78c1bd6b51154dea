package planning

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kprobesim/experiments/schema"
	"kprobesim/internal/doc"
	"kprobesim/kprobes"
	"kprobesim/targets"
	"kprobesim/workloads"
)

// named finds what an experiment names in the kernel: the instruction set, the image, and the functions in it. Each is
// looked for although another, or something else in the file, is wrong, so that all mistakes are told at once.
func (p *planner) named(root *doc.Node, pt *schema.Point, e *schema.Experiment) {
	k := e.Kernel
	known := k.ISA != "" && p.setISA(root, pt)
	if known && k.Image != "" && k.Era != "" {
		im, err := p.l.Image(k, pt.Target.ISA, folder(root, "kernel", "image"))
		p.errs.Join(at(root, "kernel", "image"), err)
		pt.Image = im
	}
	if pt.Image == nil {
		pt.Image = p.meant(k)
	}
	if pt.Image != nil {
		p.checkNames(root, pt, e, func(name string) bool { return !strings.Contains(name, ":") }) // modules are not loaded yet
	}
}

// meant is the image that a kernel names when isa, era or machine do not fit it, nil for an image of another program.
func (p *planner) meant(k schema.Kernel) *schema.Image {
	im, t, ok := targets.Image(p.l.Targets, k.Image)
	if !ok {
		return nil
	}
	k.ISA, k.Era = t.Name, im.Era
	loaded, err := p.l.image(k, "")
	if err != nil {
		return nil
	}
	return loaded
}

// checkNames wants every function that an experiment names to be there, of the names that are looked for.
func (p *planner) checkNames(root *doc.Node, pt *schema.Point, e *schema.Experiment, looked func(name string) bool) {
	check := func(key, name string, path ...string) {
		if name != "" && looked(name) {
			p.checkFunc(at(root, path...), key, pt, name)
		}
	}
	check("workload.loop", e.Workload.Loop, "workload", "loop")
	check("workload.target", e.Workload.Target, "workload", "target")
	eachRegistration(e, func(_ *schema.Probe, r schema.Registration, path []string, key string) {
		handlers := r.Handlers()
		for _, name := range []string{workloads.KeyHandler, workloads.KeyPost, workloads.KeyFault, workloads.KeyEntry} {
			symbol := handlers[name]
			if name == workloads.KeyHandler && root.Find(append(path, workloads.KeyPre)...).Kind == doc.String {
				name = workloads.KeyPre
			}
			check(key+"."+name, symbol, append(path, name)...)
		}
	})
}

// eachRegistration calls f with every registration of every point, the path of its keys and what they are called.
func eachRegistration(e *schema.Experiment, f func(of *schema.Probe, r schema.Registration, path []string, key string)) {
	for i := range e.Probes {
		probe := &e.Probes[i]
		for j, r := range probe.Registrations() {
			path, key := []string{"points", fmt.Sprint(i)}, "points."+probe.Name
			if j > 0 {
				path, key = append(path, "with", fmt.Sprint(j-1)), fmt.Sprintf("%s.with.%d", key, j-1)
			}
			f(probe, r, path, key)
		}
	}
}

// checkGuest holds modules' symbols, and offsets, against the image.
func (p *planner) checkGuest(root *doc.Node, pt *schema.Point, e *schema.Experiment) {
	before := len(p.errs)
	p.checkNames(root, pt, e, func(name string) bool { return strings.Contains(name, ":") })
	if e.Workload.Target != "" && len(p.errs) == before {
		if pt.UserCode(e.Workload.Target) {
			p.errs.Add(at(root, "workload", "target"), "workload.target: %s runs in user mode: name a function of the "+
				"kernel", e.Workload.Target)
		}
		if m, _ := pt.Module(e.Workload.Target); m != nil && m.Load != schema.LoadBoot {
			p.errs.Add(at(root, "workload", "target"), "workload.target: module %s is loaded behind what is measured without the "+
				"probes: write load = %q in its [[modules]]", m.File.Name, schema.LoadBoot)
		}
		if err := resolveLine(pt, &e.Workload); err != nil {
			p.errs.Add(at(root, "workload", "line"), "workload.line: %v", err)
		}
		if err := checkOffset(pt, e.Workload); err != nil {
			p.errs.Add(at(root, "workload", "offset"), "workload.offset: %v", err)
		}
	}
	for i, probe := range e.Probes {
		n := fmt.Sprint(i)
		if w := e.Workload; probe.At != nil && len(p.errs) == before {
			w.Offset = *probe.At
			if err := checkOffset(pt, w); err != nil {
				p.errs.Add(at(root, "points", n, "offset"), "points.%s.offset: %v", probe.Name, err)
			}
		}
		if err := checkMode(pt, probe.Mode); err != nil {
			p.errs.Add(at(root, "points", n, "mode"), "points.%s.mode: %v", probe.Name, err)
		}
	}
	eachRegistration(e, func(of *schema.Probe, r schema.Registration, path []string, key string) {
		one := *pt
		one.Workload.Offset = of.Offset(pt.Workload)
		p.checkRegistration(root, &one, r, path, key)
	})
}

// checkMode refuses a mode that no kernel of the instruction set has.
func checkMode(pt *schema.Point, m kprobes.Mode) error {
	arch := pt.Target.Probes
	if m == kprobes.Emulated && slices.ContainsFunc(arch.Eras, func(e kprobes.Era) bool {
		return e.Emulates && fmt.Sprint(e.Year) == pt.Kernel.Era
	}) {
		return nil
	}
	if m == kprobes.Boosted && arch.Then == kprobes.Emulated || m == kprobes.Emulated && arch.Then == kprobes.Boosted {
		return fmt.Errorf("no kernel of %s has probes that are %s: ask for %q or %q", pt.Target.Name, m, arch.Then, schema.ModeWord(kprobes.Stepped))
	}
	return nil
}

// checkRegistration holds one probe against the image; its keys stand at path and are called key.
func (p *planner) checkRegistration(root *doc.Node, pt *schema.Point, r schema.Registration, path []string, key string) {
	p.checkHandlers(root, pt, r, path, key)
	if r.Kind != kprobes.Kprobe && pt.Workload.Offset != 0 {
		p.errs.Add(at(root, append(path, "kind")...), "%s: a %s sits at offset 0, not %d", key, r.Kind,
			pt.Workload.Offset)
	}
}

// checkHandlers wants the probe to be one that the kernel's interface has.
func (p *planner) checkHandlers(root *doc.Node, pt *schema.Point, r schema.Registration, path []string, key string) {
	pos := at(root, append(path, "kind")...)
	if year, err := strconv.Atoi(pt.Kernel.Era); err == nil {
		if err := r.Spec(pt.Workload.Target, pt.Workload.Offset).Check(year); err != nil {
			p.errs.Add(pos, "%s: %v", key, err)
		}
	}
	if word := int64(pt.Image.Bits / 8); r.Has(func(h workloads.Handler) bool { return h.Data }) && r.DataSize < word {
		p.errs.Add(at(root, append(path, "data_size")...), "%s.data_size: %s keeps a word of %d bytes in the private "+
			"data, which has %d", key, r.Entry, word, r.DataSize)
	}
}

// checkFunc wants name to be a function of the image, or of a module.
func (p *planner) checkFunc(pos doc.Pos, key string, pt *schema.Point, name string) {
	if strings.Contains(name, ":") {
		p.checkModuleFunc(pos, key, pt, name)
		return
	}
	if f, ok := pt.Image.Func(name); ok && f.Typed {
		return
	}
	var known []string
	for _, s := range pt.Image.Symbols {
		if s.Func {
			known = append(known, pt.Image.CName(s.Name))
		}
	}
	hint := doc.Suggest(name, known)
	if isas := workloads.ISAsOf(name); isas != nil {
		hint = fmt.Sprintf(", which is one of %s: choose another (`kprobesim list targets --image %s`)", strings.Join(isas, " and "), pt.Image.Name)
	}
	p.errs.Add(pos, "%s: image %s has no function %q%s", key, pt.Image.Name, name, hint)
}

// resolveLine makes an offset of a line of the sources: of the first instruction of the target that stems from it.
func resolveLine(pt *schema.Point, w *schema.Workload) error {
	if w.Line.File == "" {
		return nil
	}
	if m, _ := pt.Module(w.Target); m != nil {
		return fmt.Errorf("lines of modules are not looked up: write offset")
	}
	f, _ := pt.Image.Func(w.Target)
	addr, ok := pt.Image.LineIn(w.Line.File, w.Line.Number, f.Entry, f.Entry+f.Size)
	if !ok {
		file, line, _ := pt.Image.Line(f.Entry)
		return fmt.Errorf("%s has no code of %s; it begins at %s:%d", w.Target, w.Line, file, line)
	}
	w.Offset = addr - f.Entry
	pt.Workload.Offset = w.Offset
	return nil
}

// checkOffset decodes the target from its start: the probe must sit on an instruction.
func checkOffset(pt *schema.Point, w schema.Workload) error {
	if m, _ := pt.Module(w.Target); m != nil {
		return nil // the kernel judges the place when it registers the probe
	}
	f, _ := pt.Image.Func(w.Target)
	if w.Offset >= max(f.Size, 1) {
		return fmt.Errorf("%s has %d bytes: offset %d is outside", w.Target, f.Size, w.Offset)
	}
	code := pt.Image.Code(f)
	for off := uint64(0); off < w.Offset; {
		text, n := pt.Target.ISA.Disasm(code[off:], f.Entry+off, nil)
		if n <= 0 {
			return fmt.Errorf("%s+%#x cannot be decoded", w.Target, off)
		}
		if off+uint64(n) > w.Offset {
			return fmt.Errorf("%s+%#x is inside the instruction at +%#x (%s, %d bytes)", w.Target,
				w.Offset, off, text, n)
		}
		off += uint64(n)
	}
	return nil
}
