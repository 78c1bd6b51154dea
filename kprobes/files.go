package kprobes

import (
	"fmt"
	"strings"

	"kprobesim/smp"
)

// The files of the kernel that Kprobes answers for.
const (
	FileList         = "/sys/kernel/debug/kprobes/list"
	FileEnabled      = "/sys/kernel/debug/kprobes/enabled"
	FileBlacklist    = "/sys/kernel/debug/kprobes/blacklist"
	FileOptimization = "/proc/sys/debug/kprobes-optimization"
)

// Files lists the paths of all eras.
func Files() []string { return []string{FileList, FileEnabled, FileBlacklist, FileOptimization} }

// files are those that kernels of the era have: the list from 2.6.21 on, the switch of all probes from 2.6.23 on,
// that of optimization where there is any, and the list of protected functions from 3.16 on. The first two releases
// are from memory.
func (k *Kprobes) files() (files []smp.VirtualFile) {
	if k.absent {
		return nil
	}
	if k.era.disabled {
		files = append(files,
			smp.VirtualFile{Path: FileList, Read: func(c Caller) (string, error) { return k.shown(c, k.List) }},
			smp.VirtualFile{Path: FileEnabled, Read: func(Caller) (string, error) { return digit(!k.allDisarmed), nil }, Write: k.writeEnabled})
	}
	if k.era.blacklist {
		files = append(files, smp.VirtualFile{Path: FileBlacklist, Read: func(c Caller) (string, error) {
			return k.shown(c, func() (string, error) { return k.Blacklist(), k.m.take() })
		}})
	}
	if k.opt.OptProbes {
		files = append(files, smp.VirtualFile{
			Path: FileOptimization, Read: func(Caller) (string, error) { return digit(k.optimization), nil }, Write: k.writeOptimization,
		})
	}
	return files
}

// shown charges what it takes to print the lines of a file.
func (k *Kprobes) shown(c Caller, text func() (string, error)) (string, error) {
	s, err := text()
	c.Charge(k.opt.Costs.Show * int64(strings.Count(s, "\n")))
	return s, err
}

// digit is how a switch reads.
func digit(on bool) string {
	if on {
		return "1\n"
	}
	return "0\n"
}

// writeEnabled looks at the first letter alone. One that means nothing is EINVAL in later kernels, and is ignored by
// earlier ones.
func (k *Kprobes) writeEnabled(c Caller, text string) error {
	on, known := false, true
	switch {
	case text == "":
		return nil
	case strings.ContainsAny(text[:1], "yY1"):
		on = true
	case !strings.ContainsAny(text[:1], "nN0"):
		known = false
	}
	switch {
	case known && on == !k.allDisarmed:
		return nil
	case known:
		return k.announce(k.armAll(c, on), "Kprobes globally "+map[bool]string{true: "enabled", false: "disabled"}[on])
	case k.era.strict:
		return EINVAL
	}
	return nil
}

// writeOptimization takes 0 and 1, as all switches of /proc/sys that are numbers with these bounds. What the
// kernel prints is from memory.
func (k *Kprobes) writeOptimization(c Caller, text string) error {
	on := false
	switch strings.TrimSpace(text) {
	case "0":
	case "1":
		on = true
	default:
		return EINVAL
	}
	if on == k.optimization {
		return nil
	}
	return k.announce(k.SetOptimization(c, on), "Kprobes globally "+map[bool]string{true: "optimized", false: "unoptimized"}[on])
}

// announce prints a line on the guest's console, behind what it tells of.
func (k *Kprobes) announce(err error, line string) error {
	if err != nil || k.console == nil {
		return err
	}
	k.console(line + "\n")
	return nil
}

// Blacklist is the text of debugfs kprobes/blacklist: one line a function that refuses probes, with its addresses.
// The functions of the sections for them are listed too, each by itself. Kernels before 4.20 listed only those that
// NOKPROBE_SYMBOL names, from memory; here the sections hold them.
func (k *Kprobes) Blacklist() string {
	var b strings.Builder
	line := func(from, to uint64, name string) {
		width := 2 * k.l.list.Size
		fmt.Fprintf(&b, "0x%0*x-0x%0*x\t%s\n", width, from, width, to, name)
	}
	for _, s := range k.im.Symbols {
		if s.Func && s.Size > 0 && k.sym.noProbes.Contains(s.Addr) {
			line(s.Addr, s.Addr+s.Size, k.im.CName(s.Name))
		}
	}
	for _, span := range k.sym.blacklist {
		if k.sym.noProbes.Contains(span.Start) {
			continue
		}
		name, _ := k.nameOf(span.Start)
		line(span.Start, span.End, name)
	}
	return b.String()
}
