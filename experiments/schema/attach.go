package schema

import (
	"slices"

	"kprobesim/distro/attaching"
	"kprobesim/internal/distinct"
	"kprobesim/internal/doc"
)

// linuxKinds are the kinds of points of the kind linux: those that were there before BPF, and the other ways to attach.
func linuxKinds() []string {
	kinds := []string{LinuxNone, LinuxKprobe, LinuxKretprobe, LinuxUprobe, linuxUretprobe, LinuxWatch, LinuxModule, LinuxObject}
	kinds = distinct.Append(kinds, attaching.Ways()...)
	return kinds
}

// Attached reports whether something is attached by system calls, as package attaching does.
func (l *LinuxProbe) Attached() bool {
	return l.Program != "" || l.Object != nil || slices.Contains(attaching.Ways(), l.What) && !l.named()
}

// named reports whether the kind is one for which a point says how its hits run and who handles them.
func (l *LinuxProbe) named() bool {
	return slices.Contains([]string{LinuxKprobe, LinuxKretprobe, LinuxUprobe, linuxUretprobe, LinuxModule}, l.What)
}

// readLinuxProgram reads what a program of BPF does. A kprobe, a user probe or a return probe may have one in place of its
// handler, and other ways need one.
func readLinuxProgram(r *doc.Reader, l *LinuxProbe) {
	one := doc.OneOf(attaching.Empty, attaching.Count, attaching.Ringbuf)
	switch programmed := attaching.Programmed(l.What); {
	case !programmed && r.Has("program"):
		r.Errorf("program", "a %s runs no program of BPF: leave it out", l.What)
	case programmed && !l.named():
		l.Program = doc.Need(r, "program", one)
	case programmed:
		l.Program = doc.Opt(r, "program", "", one)
	}
	if l.Attached() && r.Has("handler") {
		r.Errorf("handler", "what is attached has no other handler: leave it out")
	}
}
