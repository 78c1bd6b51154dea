package workloads

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"
)

//go:embed kernel
var sources embed.FS

// SourceHash returns the hash, in hexadecimal, of the guest sources this program was built with that an
// image for an instruction set depends on. It equals what build.sh puts into the image: the SHA-256 of the
// listing that sha256sum prints for these files in the order of their names. Other families of instruction
// sets do not count.
func SourceHash(isa string) (string, error) {
	root, err := fs.Sub(sources, "kernel")
	if err != nil {
		return "", err
	}
	family, err := familyOf(root, isa)
	if err != nil {
		return "", err
	}
	return hashTree(root, func(path string) bool {
		return !strings.HasPrefix(path, "arch/") || strings.HasPrefix(path, family+"/")
	})
}

// familyOf returns the folder that has an instruction set.
func familyOf(root fs.FS, isa string) (string, error) {
	found, err := fs.Glob(root, "arch/*/isa/"+isa+".sh")
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%d folders of kernel/arch have a file isa/%s.sh, one is needed", len(found), isa)
	}
	return path.Dir(path.Dir(found[0])), nil
}

func hashTree(root fs.FS, counts func(path string) bool) (string, error) {
	var paths []string
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && counts(path) {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	// The whole path is compared, as sort does, not one folder after another.
	sort.Slice(paths, func(i, j int) bool { return "./"+paths[i] < "./"+paths[j] })
	var listing bytes.Buffer
	for _, p := range paths {
		b, err := fs.ReadFile(root, p)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&listing, "%x  ./%s\n", sha256.Sum256(b), p)
	}
	sum := sha256.Sum256(listing.Bytes())
	return hex.EncodeToString(sum[:]), nil
}

// ImageHash returns the hash of the sources that image b was built from.
func ImageHash(b []byte) (string, error) {
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return "", fmt.Errorf("not an ELF image: %w", err)
	}
	syms, err := f.Symbols()
	if err != nil {
		return "", fmt.Errorf("image without symbols: %w", err)
	}
	for _, s := range syms {
		if s.Name == "kernel_source_hash" && int(s.Section) < len(f.Sections) {
			return readString(f.Sections[s.Section], s)
		}
	}
	return "", fmt.Errorf("image has no symbol kernel_source_hash: rebuild it with make guest")
}

func readString(sec *elf.Section, s elf.Symbol) (string, error) {
	b := make([]byte, s.Size)
	if _, err := sec.ReadAt(b, int64(s.Value-sec.Addr)); err != nil {
		return "", fmt.Errorf("cannot read %s: %w", s.Name, err)
	}
	return string(bytes.TrimRight(b, "\x00")), nil
}
