package schema

import (
	"kprobesim/image"
)

// Image is a guest image with where it came from.
type Image struct {
	*image.Image
	Hash string
}

// code returns the bytes of a symbol, fewer when the image does not hold them all.
func (im *Image) Code(s image.Symbol) []byte {
	for _, seg := range im.Segments {
		if s.Addr >= seg.VA && s.Addr-seg.VA < uint64(len(seg.Data)) {
			b := seg.Data[s.Addr-seg.VA:]
			return b[:min(s.Size, uint64(len(b)))]
		}
	}
	return nil
}
