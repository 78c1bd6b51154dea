package experiments

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/internal/doc"
	"kprobesim/results"
)

// Image is a guest image with where it came from.
type Image struct {
	*image.Image
	Hash string
}

// code returns the bytes of a symbol, fewer when the image does not hold them all.
func (im *Image) code(s image.Symbol) []byte {
	for _, seg := range im.Segments {
		if s.Addr >= seg.VA && s.Addr-seg.VA < uint64(len(seg.Data)) {
			b := seg.Data[s.Addr-seg.VA:]
			return b[:min(s.Size, uint64(len(b)))]
		}
	}
	return nil
}

// Loader finds and reads everything that an experiment names. The zero Loader knows nothing; use
// NewLoader.
type Loader struct {
	ISAs   []*cpus.ISA
	Images []BuiltIn // guest images of this program

	docs   map[string]document
	images map[string]*Image
	inputs []results.Input // of the plan that is being read
}

// document is a file that was read once.
type document struct {
	root  *doc.Node
	input results.Input
}

// use notes that the plan depends on a file, whether it is read now or was read for another plan.
func (l *Loader) use(in results.Input) {
	if !slices.Contains(l.inputs, in) {
		l.inputs = append(l.inputs, in)
	}
}

// BuiltIn is a guest image that the program carries.
type BuiltIn struct {
	Name, ISA, Era string
	Load           func() ([]byte, error)
}

// Machine reads a machine description by name or path, with settings whose keys start with
// "machine.".
func (l *Loader) Machine(name, base string, sets []doc.Setting) (*Machine, error) {
	root, err := l.document("machine", "machines", name, base)
	if err != nil {
		return nil, err
	}
	var errs doc.Errors
	root = root.Clone()
	for _, s := range sets {
		s = machineSetting(s)
		errs.Join(s.Value.Pos, s.Apply(root))
	}
	m := readMachine(root, l.ISAs, &errs)
	for _, s := range sets {
		m.mark(machineSetting(s))
	}
	return m, errs.Err()
}

// machineSetting makes "machine.a.b" a setting of the description's own key "a.b".
func machineSetting(s doc.Setting) doc.Setting {
	s.Path = s.Path[1:]
	return s
}

// mark notes that a parameter was overridden, so that its old source does not vouch for the new
// value.
func (m *Machine) mark(s doc.Setting) {
	for i := range m.Params {
		if p := &m.Params[i]; p.Path == s.Key() {
			p.Source = "overridden by " + s.Value.Pos.String()
		}
	}
}

// maxBases bounds how many files build on each other.
const maxBases = 8

// document reads and parses a TOML file once, with the files it is based on.
func (l *Loader) document(what, folder, name, base string) (*doc.Node, error) {
	return l.layered(what, folder, name, base, maxBases)
}

func (l *Loader) layered(what, folder, name, base string, depth int) (*doc.Node, error) {
	root, err := l.single(what, folder, name, base)
	if err != nil {
		return nil, err
	}
	below := root.Get("base")
	if below == nil {
		return root, nil
	}
	from, err := doc.Text(below)
	if err == nil && depth == 0 {
		err = fmt.Errorf("more than %d files are based on each other", maxBases)
	}
	if err != nil {
		return nil, doc.One(below.Pos, "base: %v", err)
	}
	under, err := l.layered(what, folder, from, filepath.Dir(below.Pos.File), depth-1)
	if err != nil {
		var errs doc.Errors
		errs.Join(below.Pos, err)
		return nil, errs.Err()
	}
	return doc.Merge(under, root), nil
}

// single reads and parses one file once.
func (l *Loader) single(what, folder, name, base string) (*doc.Node, error) {
	key := what + "\x00" + name + "\x00" + base
	if d, ok := l.docs[key]; ok {
		l.use(d.input)
		return d.root, nil
	}
	file, b, err := readNamed(folder, what, name, base)
	if err != nil {
		return nil, err
	}
	root, err := doc.Parse(file, b)
	if err != nil {
		return nil, err
	}
	if l.docs == nil {
		l.docs = map[string]document{}
	}
	d := document{root, results.Input{Kind: what, Name: filepath.Base(file), Hash: results.Hash(b)}}
	l.docs[key] = d
	l.use(d.input)
	return root, nil
}

// Image loads a guest image by name or path and holds it against what the experiment says of its kernel.
func (l *Loader) Image(k Kernel, isa *cpus.ISA, base string) (*Image, error) {
	im, err := l.image(k, base)
	if err != nil {
		return nil, fmt.Errorf("kernel.image: %w", err)
	}
	l.use(results.Input{Kind: "image", Name: filepath.Base(im.Name), Hash: im.Hash})
	if err := im.Match(isa.Machine, isa.Bits, isa.Order); err != nil {
		return nil, fmt.Errorf("kernel.image: %w", err)
	}
	return im, nil
}

// image finds an image and loads it once.
func (l *Loader) image(k Kernel, base string) (*Image, error) {
	name, open, err := l.findImage(k, base)
	if err != nil {
		return nil, err
	}
	if im := l.images[name]; im != nil {
		return im, nil
	}
	b, err := open()
	if err != nil {
		return nil, err
	}
	loaded, err := image.Load(name, b)
	if err != nil {
		return nil, err
	}
	if l.images == nil {
		l.images = map[string]*Image{}
	}
	l.images[name] = &Image{loaded, results.Hash(b)}
	return l.images[name], nil
}

// findImage returns the name of an image and how to read it: a path has a slash, a name is one of the
// program's and must be of the kernel's ISA and era.
func (l *Loader) findImage(k Kernel, base string) (string, func() ([]byte, error), error) {
	if strings.ContainsAny(k.Image, `/\`) {
		file := k.Image
		if !filepath.IsAbs(file) {
			file = filepath.Join(base, file)
		}
		return file, func() ([]byte, error) { return readLimited(file) }, nil
	}
	var known []string
	for _, im := range l.Images {
		if im.Name != k.imageName() {
			known = append(known, im.Name)
			continue
		}
		if im.ISA != k.ISA || im.Era != k.Era {
			return "", nil, fmt.Errorf("image %q is isa %s, era %s; the experiment says %s, %s",
				im.Name, im.ISA, im.Era, k.ISA, k.Era)
		}
		return im.Name, im.Load, nil
	}
	return "", nil, fmt.Errorf("unknown image %q: known are %s, or give the path of a file (./%s)%s",
		k.Image, strings.Join(known, ", "), k.Image, doc.Suggest(k.Image, known))
}

func (l *Loader) isa(name string) *cpus.ISA {
	for _, i := range l.ISAs {
		if i.Name == name {
			return i
		}
	}
	return nil
}
