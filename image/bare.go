package image

import (
	"fmt"
)

// LoadBare reads the kernel of somebody else: an ELF executable without symbols and debug information of
// its own, whose entry is a physical address. The function given finds its symbols by other means, in an image that
// has segments and sections already. b stays in use and must not change.
func LoadBare(name string, b []byte, symbols func(*Image) ([]Symbol, error)) (*Image, error) {
	im := &Image{Name: name}
	if err := advice().Guard(func() error { return im.loadBare(b, symbols) }); err != nil {
		return nil, fmt.Errorf("image %s: %w", name, err)
	}
	return im, nil
}

func (im *Image) loadBare(b []byte, symbols func(*Image) ([]Symbol, error)) error {
	_, err := im.open(b)
	if err == nil {
		im.Symbols, err = symbols(im)
	}
	if err == nil {
		im.index()
	}
	return err
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
