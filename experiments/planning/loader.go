package planning

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"kprobesim/cpus"
	"kprobesim/experiments"
	"kprobesim/experiments/schema"
	"kprobesim/image"
	"kprobesim/internal/distinct"
	"kprobesim/internal/doc"
	"kprobesim/machines"
	"kprobesim/results/formats"
	"kprobesim/results/outdir"
	"kprobesim/targets"
	"kprobesim/workloads"
)

// NewLoader returns a loader that knows some targets; all of this program when none is given.
func NewLoader(known ...targets.Target) *Loader {
	if len(known) == 0 {
		known = targets.List()
	}
	return &Loader{
		Targets: known, wholes: map[string]whole{}, layers: map[string]*doc.Node{}, machines: map[*doc.Node]*machines.Machine{},
		images: map[string]*schema.Image{}, kernels: map[string]*packaged{},
	}
}

// Architectures returns those for which the documents of Kprobes promise probes.
func (*Loader) Architectures() []targets.Architecture { return targets.Architectures() }

// ExperimentTitle returns the title of an experiment of this program, with its machine and guest kernel, and MachineTitle that of
// a machine.
func (l *Loader) ExperimentTitle(name string) (string, error) {
	title, err := l.title("experiment", ".", name)
	if err != nil {
		return "", err
	}
	root, err := l.document("experiment", ".", name, "")
	if err != nil {
		return "", err
	}
	if n := root.Get("machine"); n != nil {
		title += ", " + oneLine(n)
	}
	if n := root.Get("kernel"); n != nil && n.Get("image") != nil {
		title += ", " + oneLine(n.Get("image"))
	}
	return title, nil
}

// MachineTitle returns the title of a machine description of this program.
func (l *Loader) MachineTitle(name string) (string, error) {
	return l.title("machine", "machines", name)
}

// ExperimentKind returns the kind of an experiment of this program, "" for the default.
func (l *Loader) ExperimentKind(name string) (string, error) {
	root, err := l.document("experiment", ".", name, "")
	if err != nil {
		return "", err
	}
	if n := root.Get("kind"); n != nil {
		return doc.Text(n)
	}
	return "", nil
}

// title reads the title of a file of this program, without checking the rest of it.
func (l *Loader) title(what, folder, name string) (string, error) {
	root, err := l.document(what, folder, name, "")
	if err != nil {
		return "", err
	}
	n := root.Get("title")
	if n == nil {
		return "", fmt.Errorf("%s %s has no title", what, name)
	}
	return doc.Text(n)
}

// Loader finds and reads everything that an experiment names. NewLoader makes one.
type Loader struct {
	Targets []targets.Target
	Stdin   io.Reader // the experiment "-", or nil
	// Tell, if set, is told how many combinations of a sweep are planned, of how many; at last of all of them.
	Tell func(experiment string, done, of int)
	// Share, if set, is given the texts of all combinations of a sweep and returns those to plan: nil for all, because it parts
	// the points instead. A collection is not asked for.
	Share func(texts []string) []int

	wholes   map[string]whole                // documents with their bases
	layers   map[string]*doc.Node            // experiments by their file, with those that they are based on
	machines map[*doc.Node]*machines.Machine // as their documents have them, which nothing changes
	images   map[string]*schema.Image
	kernels  map[string]*packaged // of distributions, by file
	work     schema.Work          // that points on them share
	inputs   []outdir.Input       // of the plan that is being read
	keys     formats.Keys         // of the same: what its files say
	keyed    map[*doc.Node]bool   // of the same: documents whose keys are in keys
}

// whole is a document that was read once with those that it is based on.
type whole struct {
	root   *doc.Node
	inputs []outdir.Input
}

// use notes that the plan depends on a file, whether it is read now or was read for another plan.
func (l *Loader) use(in outdir.Input) {
	l.inputs = distinct.Append(l.inputs, in)
}

// depend notes that the plan depends on a file that has no keys of its own: its hash is the key.
func (l *Loader) depend(kind, path, hash string) {
	name := filepath.Base(path)
	l.use(outdir.Input{Kind: kind, Name: name, Hash: hash})
	if l.keys != nil {
		l.keys[kind+" "+name] = hash
	}
}

// Machine reads a machine description by name or path, with settings whose keys start with
// "machine.".
func (l *Loader) Machine(name, base string, sets []doc.Setting) (*machines.Machine, error) {
	file, err := l.document("machine", "machines", name, base)
	if err != nil {
		return nil, err
	}
	if m := l.machines[file]; m != nil && len(sets) == 0 {
		return m, nil
	}
	var errs doc.Errors
	root := file.Clone()
	for _, s := range sets {
		if s = machineSetting(s); s.Key() == "base" {
			errs.Add(s.Value.Pos, "machine.base: a description is read before it is set; write a file with this base, and set machine to it")
			continue
		}
		errs.Join(s.Value.Pos, s.Apply(root))
	}
	m := machines.Read(root, l.isas(), &errs)
	for _, s := range sets {
		m.Mark(machineSetting(s))
	}
	if len(sets) == 0 && errs.Err() == nil {
		l.machines[file] = m
	}
	return m, errs.Err()
}

// MachineDocument returns the document of a machine description by name or path, with what it is based on.
func (l *Loader) MachineDocument(name string) (*doc.Node, error) {
	root, err := l.document("machine", "machines", name, ".")
	if err != nil {
		return nil, err
	}
	return root.Clone(), nil
}

// ReadMachine reads the document of a machine description.
func (l *Loader) ReadMachine(root *doc.Node) (*machines.Machine, error) {
	var errs doc.Errors
	m := machines.Read(root, l.isas(), &errs)
	return m, errs.Err()
}

// machineSetting makes "machine.a.b" a setting of the description's own key "a.b".
func machineSetting(s doc.Setting) doc.Setting {
	s.Path = s.Path[1:]
	return s
}

// maxBases bounds how many files build on each other.
const maxBases = 8

// document reads and parses a TOML file once, with the files it is based on.
func (l *Loader) document(what, folder, name, base string) (*doc.Node, error) {
	root, err := l.wholeOf(what, folder, name, base)
	if err == nil && l.keys != nil && !l.keyed[root] {
		addKeys(l.keys, what+" "+documentName(root), root)
		l.keyed[root] = true
	}
	return root, err
}

// wholeOf is layered, once for each document: points of a sweep name the same machine thousands of times.
func (l *Loader) wholeOf(what, folder, name, base string) (*doc.Node, error) {
	key := documentKey(what, name, base)
	if w, ok := l.wholes[key]; ok {
		for _, in := range w.inputs {
			l.use(in)
		}
		return w.root, nil
	}
	before := l.inputs
	l.inputs = nil
	root, err := l.layered(what, folder, name, base, nil)
	used := l.inputs
	l.inputs = before
	for _, in := range used {
		l.use(in)
	}
	if err != nil {
		return nil, err
	}
	l.wholes[key] = whole{root, used}
	return root, nil
}

// documentKey tells documents apart.
func documentKey(what, name, base string) string { return what + "\x00" + name + "\x00" + base }

// documentName is the name that a document has for people, or that of its file.
func documentName(root *doc.Node) string {
	if n := root.Get("name"); n != nil && n.Kind == doc.String {
		return n.Text
	}
	return strings.TrimSuffix(filepath.Base(root.Pos.File), ".toml")
}

// prose are keys that no figure depends on.
var prose = []string{"title", "source", "sources", "base", "figures"}

// addKeys adds every value below a node to the keys. Elements of a list of tables go by their names, or their numbers.
func addKeys(to formats.Keys, path string, n *doc.Node) {
	switch {
	case n.Kind == doc.Table:
		for _, f := range n.Fields {
			if !slices.Contains(prose, f.Key) {
				addKeys(to, join(path, f.Key), f.Value)
			}
		}
	case n.Kind == doc.Array && slices.ContainsFunc(n.Items, func(i *doc.Node) bool { return i.Kind == doc.Table }):
		for i, item := range n.Items {
			name := fmt.Sprint(i)
			if given := item.Get("name"); given != nil {
				name = given.Text
			}
			addKeys(to, fmt.Sprintf("%s[%s]", path, name), item)
		}
	default:
		to[path] = oneLine(n)
	}
}

// join parts a key from the document with a space, and from another key with a dot.
func join(path, key string) string {
	if strings.Count(path, " ") == 1 {
		return path + " " + key
	}
	return path + "." + key
}

// oneLine writes a value, a list in brackets, and what would end the line as in Go.
func oneLine(n *doc.Node) string {
	if n.Kind != doc.Array {
		return strings.ReplaceAll(strings.ReplaceAll(n.Text, "\n", "\\n"), "\r", "\\r")
	}
	items := make([]string, len(n.Items))
	for i, item := range n.Items {
		items[i] = oneLine(item)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// layered reads a file and those that it is based on. Above are the files that are based on it.
func (l *Loader) layered(what, folder, name, base string, above []string) (*doc.Node, error) {
	root, err := l.single(what, folder, name, base)
	if err != nil {
		return nil, err
	}
	file := filepath.Clean(root.Pos.File)
	if !doc.IsPath(name) {
		file = what + " " + name // of this program, whatever files there are
	}
	if i := slices.Index(above, file); i >= 0 {
		return nil, fmt.Errorf("%s is based on itself: %s", file, strings.Join(append(above[i:], file), " is based on "))
	}
	above = append(slices.Clone(above), file)
	below := root.Get("base")
	if below == nil {
		l.keep(what, root)
		return root, nil
	}
	from, err := doc.Text(below)
	if err == nil && len(above) > maxBases {
		err = fmt.Errorf("more than %d files are based on each other", maxBases)
	}
	if err != nil {
		return nil, doc.One(below.Pos, "base: %v", err)
	}
	under, err := l.layered(what, folder, from, filepath.Dir(below.Pos.File), above)
	if err != nil {
		var errs doc.Errors
		errs.Join(below.Pos, err)
		return nil, errs.Err()
	}
	whole := doc.Merge(under, root)
	if what == "experiment" {
		dropAxes(whole, root)
	}
	l.keep(what, whole)
	return whole, nil
}

// keep notes an experiment as its file and those below it have it. The setup that a published figure
// was measured on is looked up there.
func (l *Loader) keep(what string, whole *doc.Node) {
	if what == "experiment" {
		l.layers[whole.Pos.File] = whole
	}
}

// single reads and parses one file.
func (l *Loader) single(what, folder, name, base string) (*doc.Node, error) {
	file, b, err := l.read(what, folder, name, base)
	if err != nil {
		return nil, err
	}
	if what == "experiment" && SortOf(file, b) == SortMachine {
		return nil, fmt.Errorf("%s is a machine description and no experiment: run an experiment on it by `--set machine=%[1]s`", file)
	}
	root, err := doc.Parse(file, b)
	if err == nil {
		l.use(outdir.Input{Kind: what, Name: filepath.Base(file), Hash: outdir.Hash(b)})
	}
	return root, err
}

// stdin is the name of the experiment that is read from the standard input, and the file of its messages.
const stdin, stdinFile = "-", "standard input"

// read reads the bytes of a file by name or path, or the experiment on the standard input. Paths in that start here.
func (l *Loader) read(what, folder, name, base string) (file string, b []byte, err error) {
	if what != "experiment" || name != stdin || base != "" {
		return experiments.Read(folder, what, name, base)
	}
	if l.Stdin == nil {
		return "", nil, errors.New("experiment -: there is no standard input to read it from")
	}
	b, err = io.ReadAll(io.LimitReader(l.Stdin, doc.MaxSize+1))
	if err == nil && len(b) > doc.MaxSize {
		err = fmt.Errorf("more than %d bytes", doc.MaxSize)
	}
	if err != nil {
		return "", nil, fmt.Errorf("experiment -: %w", err)
	}
	return stdinFile, b, nil
}

// Image loads a guest image by name or path and holds it against what the experiment says of its kernel.
func (l *Loader) Image(k schema.Kernel, isa *cpus.ISA, base string) (*schema.Image, error) {
	im, err := l.image(k, base)
	if err != nil {
		return nil, fmt.Errorf("kernel.image: %w", err)
	}
	l.depend("image", im.Name, im.Hash)
	if err := im.Match(isa.Machine, isa.Bits, isa.Order); err != nil {
		return nil, fmt.Errorf("kernel.image: %w", err)
	}
	return im, nil
}

// image finds an image and loads it once.
func (l *Loader) image(k schema.Kernel, base string) (*schema.Image, error) {
	name, load, err := l.findImage(k, base)
	if err != nil {
		return nil, err
	}
	if im := l.images[name]; im != nil {
		return im, nil
	}
	im, err := load()
	if err == nil {
		l.images[name] = im
	}
	return im, err
}

// findImage returns the name of an image and how to load it: a path has a slash, a name is one of the
// program's and must be of the kernel's ISA and era.
func (l *Loader) findImage(k schema.Kernel, base string) (string, func() (*schema.Image, error), error) {
	if strings.ContainsAny(k.Image, `/\`) {
		file := beside(base, k.Image)
		return file, func() (*schema.Image, error) { return imageFile(file) }, nil
	}
	name := k.ImageName()
	im, t, ok := targets.Image(l.Targets, name)
	switch {
	case !ok:
		known := l.imageNames()
		return "", nil, fmt.Errorf("unknown image %q: known are %s, or give the path of a file (./%s)%s",
			name, strings.Join(known, ", "), name, doc.Suggest(name, known))
	case t.Name != k.ISA:
		return "", nil, fmt.Errorf("image %q is isa %s, era %s; the experiment says %s: move all of it by the setting isa=%s and a machine",
			im.Name, t.Name, im.Era, k.ISA, t.Name)
	case im.Era != k.Era:
		return "", nil, fmt.Errorf("image %q is isa %s, era %s; the experiment says %s: write era = %q",
			im.Name, t.Name, im.Era, k.Era, im.Era)
	}
	return im.Name, func() (*schema.Image, error) { return ownImage(im.Name) }, nil
}

// imageFile loads an image that is a file.
func imageFile(file string) (*schema.Image, error) {
	b, err := experiments.ReadLimited(file)
	if err != nil {
		return nil, err
	}
	im, err := image.Load(file, b)
	return &schema.Image{Image: im, Hash: outdir.Hash(b)}, err
}

// ownImage loads an image of this program.
func ownImage(name string) (*schema.Image, error) {
	b, err := workloads.Open(name)
	if err != nil {
		return nil, err
	}
	im, err := targets.LoadImage(name)
	return &schema.Image{Image: im, Hash: outdir.Hash(b)}, err
}

// imageNames lists the images of all targets.
func (l *Loader) imageNames() []string {
	var names []string
	for _, t := range l.Targets {
		for _, im := range t.Images {
			names = append(names, im.Name)
		}
	}
	return names
}

// isas lists the instruction sets that a machine may have.
func (l *Loader) isas() []*cpus.ISA {
	var isas []*cpus.ISA
	for _, t := range l.Targets {
		isas = append(isas, t.ISA)
	}
	return isas
}
