package planning

import (
	"fmt"

	"kprobesim/experiments/schema"
	"kprobesim/internal/doc"
	"kprobesim/kprobes"
)

// checkGuest holds symbols and offsets against the image.
func (p *planner) checkGuest(root *doc.Node, pt *schema.Point, e *schema.Experiment) {
	if e.Workload.Loop != "" {
		p.checkFunc(at(root, "workload", "loop"), "workload.loop", pt, e.Workload.Loop)
	}
	if e.Workload.Target != "" && p.checkFunc(at(root, "workload", "target"), "workload.target", pt, e.Workload.Target) {
		if pt.UserCode(e.Workload.Target) {
			p.errs.Add(at(root, "workload", "target"), "workload.target: %s runs in user mode: name a function of the "+
				"kernel", e.Workload.Target)
		}
		if err := checkOffset(pt, e.Workload); err != nil {
			p.errs.Add(at(root, "workload", "offset"), "workload.offset: %v", err)
		}
	}
	for i, probe := range e.Probes {
		n := fmt.Sprint(i)
		for j, r := range probe.Registrations() {
			path, key := []string{"points", n}, "points."+probe.Name
			if j > 0 {
				path, key = append(path, "with", fmt.Sprint(j-1)), fmt.Sprintf("%s.with.%d", key, j-1)
			}
			p.checkRegistration(root, pt, r, path, key)
		}
	}
}

// checkRegistration holds one probe against the image; its keys stand at path and are called key.
func (p *planner) checkRegistration(root *doc.Node, pt *schema.Point, r schema.Registration, path []string, key string) {
	p.checkFunc(at(root, append(path, "handler")...), key+".handler", pt, r.Handler)
	if r.Kind != kprobes.Kprobe && pt.Workload.Offset != 0 {
		p.errs.Add(at(root, append(path, "kind")...), "%s: a %s sits at offset 0, not %d", key, r.Kind,
			pt.Workload.Offset)
	}
}

// checkFunc reports whether name is a function of the image.
func (p *planner) checkFunc(pos doc.Pos, key string, pt *schema.Point, name string) bool {
	f, ok := pt.Image.Func(name)
	if ok && f.Typed {
		return true
	}
	var known []string
	for _, s := range pt.Image.Symbols {
		if s.Func {
			known = append(known, pt.Image.CName(s.Name))
		}
	}
	p.errs.Add(pos, "%s: image %s has no function %q%s", key, pt.Image.Name, name,
		doc.Suggest(name, known))
	return false
}

// checkOffset decodes the target from its start: the probe must sit on an instruction.
func checkOffset(pt *schema.Point, w schema.Workload) error {
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
