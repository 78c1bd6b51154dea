package rootfs

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"kprobesim/distro"
)

// Image tells how the program of an image runs.
type Image struct {
	Command []string // entry point and arguments
	Env     []string // NAME=VALUE
	Folder  string   // where the program starts
}

// Files by which images are known: a layout of OCI, and what docker save writes.
const (
	layoutFile = "oci-layout"
	dockerFile = "manifest.json"
)

// isImage reports whether a tar archive holds an image, and is no root itself.
func isImage(b []byte) bool {
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if err != nil {
			return false
		}
		switch path.Clean(h.Name) {
		case layoutFile:
			return true
		case dockerFile: // which programs may have a file of their own of
			var list []struct{ Config string }
			if h.Size < 1<<20 && json.NewDecoder(r).Decode(&list) == nil && len(list) > 0 && list[0].Config != "" {
				return true
			}
		}
	}
}

// platforms lists what kernels of an instruction set are called by images. Kernels of ARM have no floating point here, as images of
// the variant 5 expect. Tools that make images may leave the variant out.
func platforms(machine elf.Machine) []string {
	if machine == elf.EM_ARM {
		return []string{"linux/arm/v5", "linux/arm"}
	}
	return []string{"linux/amd64"}
}

// images collects the supported images of an archive.
type images struct {
	Tree
	supported []string // platforms
	found     []*image
	others    map[string]bool // further platforms
	lists     map[string]bool // lists that were looked through: each may name others many times
}

// image is a configuration (OCI image specification 1.1, config.md), and the names of the files with its layers.
type image struct {
	platform
	Config struct {
		Entrypoint, Cmd, Env []string
		WorkingDir           string
	}
	RootFS struct {
		Sums []string `json:"diff_ids"` // of the layers as they are unpacked
	}
	name   string // of its configuration
	layers []string
}

// platform tells what the programs of an image run on.
type platform struct{ OS, Architecture, Variant string }

func (p platform) String() string { return path.Join(p.OS, p.Architecture, p.Variant) }

// descriptor names a file by its sum (descriptor.md).
type descriptor struct {
	MediaType, Digest string
	Platform          *platform
}

// image adds the files of the one supported image.
func (t Tree) image(supported []string, b []byte) (*Image, error) {
	in := images{Tree: Tree{}, supported: supported, others: map[string]bool{}, lists: map[string]bool{}}
	if err := in.tar(b, false); err != nil {
		return nil, err
	}
	read := in.docker
	if _, ok := in.Find(layoutFile); ok {
		read = func() error { return in.index("index.json") }
	}
	if err := read(); err != nil {
		return nil, err
	}
	switch others := strings.Join(slices.Sorted(maps.Keys(in.others)), ", "); {
	case len(in.found) > 1:
		return nil, fmt.Errorf("has %d images for %s: save one alone", len(in.found), supported[0])
	case len(in.found) == 0 && others == "":
		return nil, errors.New("has no image")
	case len(in.found) == 0:
		return nil, fmt.Errorf("has no image for %s, the platform of the kernel, but for %s: save the other one", supported[0], others)
	}
	x := in.found[0]
	root, err := in.root(x)
	if err != nil {
		return nil, err
	}
	for _, f := range root.Files() {
		t.Put(f)
	}
	return &Image{slices.Concat(x.Config.Entrypoint, x.Config.Cmd), x.Config.Env, x.Config.WorkingDir}, nil
}

// index looks through a list of images, some of which may be lists themselves (image-index.md).
func (in *images) index(name string) error {
	if in.lists[name] {
		return nil
	}
	in.lists[name] = true
	var list struct{ Manifests []descriptor }
	if err := in.decode(name, &list); err != nil {
		return err
	}
	for _, d := range list.Manifests {
		if d.Platform != nil && !slices.Contains(in.supported, d.Platform.String()) {
			in.others[d.Platform.String()] = true
			continue
		}
		read := in.manifest
		if strings.Contains(d.MediaType, ".index.") || strings.Contains(d.MediaType, ".list.") {
			read = in.index
		}
		at, err := blob(d)
		if err == nil {
			err = read(at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// manifest reads an image (manifest.md).
func (in *images) manifest(name string) error {
	var m struct {
		Config descriptor
		Layers []descriptor
	}
	if err := in.decode(name, &m); err != nil {
		return err
	}
	var files []string
	for _, d := range append(m.Layers, m.Config) {
		at, err := blob(d)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		files = append(files, at)
	}
	last := len(files) - 1
	return in.configuration(files[last], files[:last])
}

// docker reads the list that docker save writes.
func (in *images) docker() error {
	var list []struct {
		Config string
		Layers []string
	}
	if err := in.decode(dockerFile, &list); err != nil {
		return err
	}
	for _, m := range list {
		if err := in.configuration(m.Config, m.Layers); err != nil {
			return err
		}
	}
	return nil
}

// configuration notes a supported image.
func (in *images) configuration(name string, layers []string) error {
	x := &image{name: name, layers: layers}
	if err := in.decode(name, x); err != nil {
		return err
	}
	if !slices.Contains(in.supported, x.String()) {
		in.others[x.String()] = true
		return nil
	}
	if len(layers) != len(x.RootFS.Sums) {
		return fmt.Errorf("%s names %d layers, and there are %d: save the image again", name, len(x.RootFS.Sums), len(layers))
	}
	if !slices.ContainsFunc(in.found, func(one *image) bool { return one.name == name }) { // another tag of it
		in.found = append(in.found, x)
	}
	return nil
}

// blob is the file of a descriptor (image-layout.md). One without a sum would let a list of images name itself.
func blob(d descriptor) (string, error) {
	sum, ok := strings.CutPrefix(d.Digest, "sha256:")
	if !ok || !summed.MatchString(sum) {
		return "", fmt.Errorf("a file is named by %.80q and not by its sha256: save the image with that sum", d.Digest)
	}
	return "blobs/sha256/" + sum, nil
}

// summed is a name that is a sum, as blobs and the configurations of docker have.
var summed = regexp.MustCompile(`^[0-9a-f]{64}$`)

// file finds a file of the archive. One that is named by its sum must have that.
func (in *images) file(name string) ([]byte, error) {
	f, ok := in.Find(name)
	if !ok {
		return nil, fmt.Errorf("%s is not in the archive: save the image again, with all that belongs to it", name)
	}
	base, sum := strings.TrimSuffix(path.Base(name), ".json"), fmt.Sprintf("%x", sha256.Sum256(f.Data))
	if summed.MatchString(base) && sum != base {
		return nil, fmt.Errorf("%s is damaged: its sum is %s: save the image again", name, sum)
	}
	return f.Data, nil
}

func (in *images) decode(name string, to any) error {
	b, err := in.file(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, to); err != nil {
		return fmt.Errorf("%s: damaged: %w", name, err)
	}
	return nil
}

// root puts the layers of an image on each other.
func (in *images) root(x *image) (Tree, error) {
	root, left := Tree{}, Most
	for i, name := range x.layers {
		b, err := in.file(name)
		if err != nil {
			return nil, err
		}
		b, err = Unpack(b, left)
		left -= len(b)
		if err == nil && fmt.Sprintf("sha256:%x", sha256.Sum256(b)) != x.RootFS.Sums[i] {
			err = fmt.Errorf("damaged: what is packed has another sum than %s: save the image again", x.RootFS.Sums[i])
		}
		if err == nil {
			err = root.layer(b)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return root, nil
}

// Names of files that remove others (layer.md).
const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq" // all that lower layers have in its folder
)

// layer puts a layer on those below. What it removes goes first, wherever in the layer that stands.
func (t Tree) layer(b []byte) error {
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if err != nil {
			return t.tar(b, true) // says what is wrong with the archive
		}
		dir, hidden := path.Split(t.place(h.Name))
		switch name, ok := strings.CutPrefix(hidden, whiteout); {
		case hidden == opaque:
			t.removeAll(dir)
		case ok && name != "" && name != "." && name != "..":
			t.remove(dir + name)
		}
	}
}

// remove removes a file, or a folder with what is in it.
func (t Tree) remove(name string) {
	delete(t, name)
	t.removeAll(name + "/")
}

// removeAll removes what is in a folder, whose name ends in a slash unless it is the root.
func (t Tree) removeAll(dir string) {
	maps.DeleteFunc(t, func(at string, _ distro.File) bool { return strings.HasPrefix(at, dir) })
}
