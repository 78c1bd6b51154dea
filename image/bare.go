package image

import (
	"cmp"
	"fmt"
	"slices"
)

// LoadBare reads the kernel of somebody else: an ELF executable without symbols and debug information of
// its own, whose entry is a physical address. The function given finds its symbols by other means, in an image that
// has segments and sections already. b stays in use and must not change.
func LoadBare(name string, b []byte, symbols func(*Image) ([]Symbol, error)) (im *Image, err error) {
	defer func() {
		if r := recover(); r != nil { // debug/elf, see Load
			im, err = nil, fmt.Errorf("image %s: damaged file (%v): build or copy it again", name, r)
		}
	}()
	im = &Image{Name: name}
	f, err := advice().Open(b)
	if err == nil {
		err = im.loadHeader(f)
	}
	if err == nil {
		err = im.loadSegments(f, b)
	}
	if err == nil {
		err = im.loadSections(f)
	}
	if err == nil {
		im.Symbols, err = symbols(im)
	}
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", name, err)
	}
	slices.SortStableFunc(im.Symbols, func(a, b Symbol) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Name, b.Name))
	})
	im.indexNames()
	im.indexSpans()
	return im, nil
}

// Bytes returns what the file has for a range of virtual addresses within one segment, or nil. It must not be
// written.
func (im *Image) Bytes(va, size uint64) []byte {
	for i := range im.Segments {
		s := &im.Segments[i]
		if off := va - s.VA; va >= s.VA && off < uint64(len(s.Data)) && size <= uint64(len(s.Data))-off {
			return s.Data[off : off+size : off+size]
		}
	}
	return nil
}
