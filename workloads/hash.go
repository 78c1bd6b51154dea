package workloads

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"sort"
)

//go:embed kernel
var sources embed.FS

// SourceHash returns the hash, in hexadecimal, of the guest sources this program was built with.
// It equals what build.sh puts into the images: the SHA-256 of the listing that sha256sum prints
// for all files in the order of their names.
func SourceHash() (string, error) {
	root, err := fs.Sub(sources, "kernel")
	if err != nil {
		return "", err
	}
	return hashTree(root)
}

func hashTree(root fs.FS) (string, error) {
	var paths []string
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
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
