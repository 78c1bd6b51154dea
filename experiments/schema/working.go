package schema

import (
	"errors"
	"path"
	"slices"
	"strings"

	"kprobesim/distro/attaching"
	"kprobesim/internal/doc"
	"kprobesim/kprobes"
)

// Working says which program the points of the kind linux-workload run.
type Working struct {
	Root    []string // folders and archives, as the experiment names them
	Only    []string // the files of them that are taken, with the libraries that they need; nil for all
	Command []string // path of the program, and arguments; nil for what an image of the root says
	Env     []string // NAME=VALUE; nil for the same
	Input   string   // path of what the program reads; "" for nothing
	Marks   bool     // the region of interest is between marks
	Warm    int64    // runs before it
	Disk    Disk

	Archive []byte // made by the planner: the root with the input, as a cpio archive
	Hash    string // of it and of the disk
	Folder  string // where the program starts, by an image of the root
}

// Disk is a file system that the kernel mounts from memory.
type Disk struct {
	Path string // of its image; "" for none
	At   string // the folder where it is mounted

	Image   []byte       // read by the planner, as the rest; nil for none
	Type    string       // of the file system
	Modules []UserModule // the drivers, in the order of their insertion
}

// workingKey has the inputs of a measurement.
type workingKey struct {
	Hash, Folder string
	Command, Env []string
	Marks        bool
	Warm         int64
}

func (w *Working) key() workingKey {
	if w == nil {
		return workingKey{}
	}
	return workingKey{w.Hash, w.Folder, w.Command, w.Env, w.Marks, w.Warm}
}

// Regions of interest of a program.
const (
	regionCommand = "command" // all of it
	regionMarks   = "marks"   // what is between marks
)

// EnvOver is the environment of a program that the experiment gives none: what an image says, and PATH and HOME if it does not.
func EnvOver(image []string) []string {
	var env []string
	for _, v := range []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/"} {
		name, _, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc(image, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
			env = append(env, v)
		}
	}
	return append(env, image...)
}

// ReadWorking reads the table [workload] of the kind linux-workload.
func ReadWorking(r *doc.Reader) *Working {
	defer r.Done()
	w := &Working{
		Root:    doc.Need(r, "root", doc.ListOf(doc.Text)),
		Only:    doc.Opt(r, "only", nil, doc.ListOf(doc.Text)),
		Command: pathFirst(r, doc.Opt(r, "command", nil, doc.ListOf(doc.Text))),
		Env:     doc.Opt(r, "env", nil, doc.ListOf(doc.Text)),
		Input:   doc.Opt(r, "input", "", besideFile),
		Marks:   doc.Opt(r, "region", regionCommand, doc.OneOf(regionCommand, regionMarks)) == regionMarks,
		Warm:    doc.Opt(r, "warmup", 0, doc.Int(0, maxWarm)),
	}
	w.Disk = Disk{Path: doc.Opt(r, "disk", "", besideFile), At: doc.Opt(r, "mount", "/disk", absolute)}
	if r.Has("mount") && w.Disk.Path == "" {
		r.Errorf("mount", "there is no disk: name the image of a file system by disk")
	}
	if r.Has("env") && w.Env == nil {
		w.Env = []string{} // an empty one
	}
	if r.Has("root") && len(w.Root) == 0 {
		r.Errorf("root", "a program needs files: name a folder or an archive")
	}
	return w
}

// absolute parses the path of a folder in the root.
func absolute(n *doc.Node) (string, error) {
	at, err := doc.Text(n)
	if err == nil && (!path.IsAbs(at) || path.Clean(at) == "/") {
		err = errors.New("write the path of a folder, from / on")
	}
	return at, err
}

// pathFirst wants a command to begin with the path of a program in the root.
func pathFirst(r *doc.Reader, c []string) []string {
	if r.Has("command") && len(c) == 0 || len(c) > 0 && !path.IsAbs(c[0]) {
		r.Errorf("command", "write the path of the program in the root first, from / on, and an argument each behind it")
	}
	return c
}

// defaultSettle is how many milliseconds a tool has to attach what it likes.
const defaultSettle = 1000

// maxWarm bounds the runs before a region.
const maxWarm = 1000

// workingWays are the ways to attach that put a program of BPF somewhere.
func workingWays() (ways []string) {
	for _, w := range attaching.Ways() {
		if attaching.Programmed(w) {
			ways = append(ways, w)
		}
	}
	return ways
}

// ReadWorkingProbes reads the tables [[points]] of the kind linux-workload.
func ReadWorkingProbes(r *doc.Reader) []Probe { return readPoints(r, readWorkingPoint) }

func readWorkingPoint(r *doc.Reader) Probe {
	defer r.Done()
	l := &LinuxProbe{What: doc.Need(r, "kind", doc.OneOf(append([]string{LinuxNone, LinuxObject, linuxTool}, workingWays()...)...)), Handler: LinuxEvent}
	p := Probe{Name: doc.Need(r, "name", doc.Name), Mode: kprobes.Stepped, Linux: l}
	p.Title = doc.Opt(r, "title", p.Name, doc.Text)
	if l.What == LinuxNone || l.What == "" {
		return p
	}
	switch l.What {
	case LinuxObject:
		l.Object = readUserObject(r)
		return p
	case linuxTool:
		l.Tool = &UserTool{Command: pathFirst(r, doc.Need(r, "command", doc.ListOf(doc.Text))), Settle: doc.Opt(r, "settle", defaultSettle, doc.Int(1, 60_000))}
		return p
	}
	l.Program = doc.Opt(r, "program", attaching.Count, doc.OneOf(attaching.Empty, attaching.Count, attaching.Ringbuf))
	l.Target = doc.Need(r, "target", doc.Text)
	l.Room = doc.Opt(r, "room", defaultRoom, doc.Int(1, 10_000_000))
	parts := 1
	switch {
	case l.What == attaching.USDT:
		parts = 3
	case attaching.User(l.What):
		parts = 2
	}
	if l.Target != "" && len(strings.SplitN(l.Target, ":", parts)) < parts {
		r.Errorf("target", "write a file of the root and a function of it, as in /usr/bin/NAME:FUNCTION, or a static probe as FILE:PROVIDER:NAME")
	}
	if l.What == LinuxKprobe || l.What == LinuxUprobe {
		l.Offset = doc.Opt(r, "offset", 0, doc.Int(0, 1<<20))
	}
	return p
}

// defaultRoom is the number of records that a ring buffer has room for without being read.
const defaultRoom = 100_000
