package workloads

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// sourceHash returns the hash, in hexadecimal, of the guest sources that an image for an instruction set depends on. It equals
// what build.sh puts into the image: the SHA-256 of the listing that sha256sum prints for these files in the order of their
// names. Other families of instruction sets do not count.
func sourceHash(t *testing.T, isa string) string {
	root := require.Must(fs.Sub(sources, "kernel"))(t)
	found := require.Must(fs.Glob(root, "arch/*/isa/"+isa+".sh"))(t)
	require.Need(t, len(found) == 1, "%d folders of kernel/arch have a file isa/%s.sh, one is needed", len(found), isa)
	family := path.Dir(path.Dir(found[0])) + "/"
	var paths []string
	require.NoError(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (!strings.HasPrefix(path, "arch/") || strings.HasPrefix(path, family)) {
			paths = append(paths, "./"+path)
		}
		return err
	}))
	slices.Sort(paths) // whole paths, as sort does, and not one folder after another
	var listing bytes.Buffer
	for _, p := range paths {
		fmt.Fprintf(&listing, "%x  %s\n", sha256.Sum256(require.Must(fs.ReadFile(root, path.Clean(p)))(t)), p)
	}
	return fmt.Sprintf("%x", sha256.Sum256(listing.Bytes()))
}

// imageHash returns the hash of the sources that an image was built from.
func imageHash(t *testing.T, name string) string {
	f := openELF(t, name)
	for _, s := range require.Must(f.Symbols())(t) {
		if s.Name == "kernel_source_hash" {
			sec := f.Sections[s.Section]
			b := require.Must(sec.Data())(t)[s.Value-sec.Addr:]
			return string(bytes.TrimRight(b[:s.Size], "\x00"))
		}
	}
	t.Fatalf("%s has no symbol kernel_source_hash: rebuild it with make guest", name)
	return ""
}
