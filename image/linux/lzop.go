package linux

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/anchore/go-lzo"
)

// lzopMagic begins a file of the program lzop (lzop 1.04, src/lzop.c).
const lzopMagic = "\x89LZO\x00\r\n\x1a\n"

// Flags of a file: what its blocks have behind their sizes, and what its header has more.
const (
	lzopSumsPlain  = 0x1 | 0x100 // Adler-32 or CRC-32 of the content; with both, two words
	lzopSumsPacked = 0x2 | 0x200
	lzopExtra      = 0x40
	lzopFilter     = 0x800
)

// lzopBlock bounds a block, in bytes.
const lzopBlock = 64 << 20

var errLzop = errors.New("ends too early")

// lzop reads a file of lzop. Check sums are passed over: a kernel that comes out wrong has no tables.
type lzop struct {
	rest          []byte
	plain, packed int // words of check sums behind the sizes of a block
	out           []byte
}

// newLzop reads the header: versions, method, flags, mode, times, a name, a check sum.
func newLzop(b []byte) (*lzop, error) {
	const upToFlags = len(lzopMagic) + 8
	if len(b) < upToFlags+18 {
		return nil, errLzop
	}
	flags := binary.BigEndian.Uint32(b[upToFlags:])
	if flags&(lzopExtra|lzopFilter) != 0 {
		return nil, fmt.Errorf("has flags %#x, which kernels do not use", flags)
	}
	name := upToFlags + 4 + 12
	behind := name + 1 + int(b[name]) + 4
	if behind > len(b) {
		return nil, errLzop
	}
	return &lzop{rest: b[behind:], plain: bits.OnesCount32(flags & lzopSumsPlain), packed: bits.OnesCount32(flags & lzopSumsPacked)}, nil
}

// Read implements io.Reader.
func (l *lzop) Read(p []byte) (int, error) {
	for len(l.out) == 0 {
		if err := l.block(); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.out)
	l.out = l.out[n:]
	return n, nil
}

// word takes a number of four bytes.
func (l *lzop) word() (uint32, error) {
	if len(l.rest) < 4 {
		return 0, errLzop
	}
	v := binary.BigEndian.Uint32(l.rest)
	l.rest = l.rest[4:]
	return v, nil
}

// block unpacks the next block, and ends with io.EOF behind the last. One that would not have shrunk is stored, and has no
// check sum of its packed form.
func (l *lzop) block() error {
	size, err := l.word()
	if err != nil {
		return err
	}
	if size == 0 {
		return io.EOF
	}
	packed, err := l.word()
	if err != nil {
		return err
	}
	sums := 4 * l.plain
	if packed < size {
		sums += 4 * l.packed
	}
	if packed > size || size > lzopBlock || uint64(len(l.rest)) < uint64(sums)+uint64(packed) {
		return errLzop
	}
	data := l.rest[sums : sums+int(packed)]
	l.rest = l.rest[sums+int(packed):]
	if l.out = data; packed == size {
		return nil
	}
	l.out = make([]byte, size)
	n, err := lzo.Decompress(data, l.out)
	if err == nil && n != int(size) {
		err = fmt.Errorf("has a block of %d bytes, want %d", n, size)
	}
	return err
}
