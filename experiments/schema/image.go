package schema

import (
	"kprobesim/image"
)

// Image is a guest image with where it came from.
type Image struct {
	*image.Image
	Hash string
}

// Code returns the bytes of a function, fewer when the image does not hold them all.
func (im *Image) Code(f image.Func) []byte {
	for _, seg := range im.Segments {
		if f.Entry >= seg.VA && f.Entry-seg.VA < uint64(len(seg.Data)) {
			b := seg.Data[f.Entry-seg.VA:]
			return b[:min(f.Size, uint64(len(b)))]
		}
	}
	return nil
}
