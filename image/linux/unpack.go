package linux

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/xi2/xz"
)

// Offsets of the setup header (boot protocol, "The Real-Mode Kernel Header"), from the file's beginning.
const (
	setupSectors  = 0x1f1 // sectors of 512 bytes behind the first one
	setupMagic    = 0x202 // "HdrS"
	setupVersion  = 0x206
	setupText     = 0x20e // where the version's text is, from 0x200 on
	setupFlags    = 0x236 // xloadflags
	setupPayload  = 0x248 // from the protected-mode code on
	setupSize     = 0x24c
	setupEnd      = 0x268
	sector        = 512
	lowestVersion = 0x208 // the first with a payload
)

// Setup holds the header of a bzImage. It is zero for a kernel that came as an ELF file.
type Setup struct {
	Header   []byte // from 0x1f1 on, as boot parameters hold it
	Protocol int    // version, such as 0x20f for 2.15
	Release  string // of the kernel, with what its builder added
}

// Limits of what is unpacked, in bytes: an ELF file several times that of a distribution's kernel, and the
// window of its compression.
const (
	maxKernel = 512 << 20
	maxWindow = 128 << 20
)

// readSetup reads the header of a bzImage and returns its payload.
func readSetup(b []byte) (s Setup, payload []byte, err error) {
	if len(b) < setupEnd || string(b[setupMagic:setupMagic+4]) != "HdrS" {
		return s, nil, errors.New("is neither an ELF file nor a bzImage: name the vmlinuz of a distribution, or a vmlinux")
	}
	le := binary.LittleEndian
	s.Protocol = int(le.Uint16(b[setupVersion:]))
	if s.Protocol < lowestVersion {
		return s, nil, fmt.Errorf("has boot protocol %d.%d: kernels with 2.8 and later are read", s.Protocol>>8, s.Protocol&0xff)
	}
	s.Header = b[setupSectors:min(0x202+int(b[0x201]), len(b))]
	if at := 0x200 + int(le.Uint16(b[setupText:])); at < len(b) {
		text, _, _ := bytes.Cut(b[at:min(at+256, len(b))], []byte{0})
		s.Release = string(text)
	}
	sectors := int(b[setupSectors])
	if sectors == 0 {
		sectors = 4 // boot protocol, setup_sects
	}
	from := uint64(sectors+1)*sector + uint64(le.Uint32(b[setupPayload:]))
	size := uint64(le.Uint32(b[setupSize:]))
	if from+size > uint64(len(b)) {
		return s, nil, fmt.Errorf("is truncated: its payload ends at byte %#x of %#x: copy it again", from+size, len(b))
	}
	return s, b[from : from+size], nil
}

// unpackKept is unpack of what a keeper has not.
func unpackKept(payload []byte, kept Keeper) ([]byte, error) {
	if kept == nil {
		return unpack(payload)
	}
	if content, ok := kept.Load(payload); ok {
		return content, nil
	}
	content, err := unpack(payload)
	if err == nil {
		kept.Save(payload, content)
	}
	return content, err
}

// compression is a format of payloads: the bytes by which one begins, and what unpacks it.
type compression struct {
	name, magic string
	open        func(payload []byte) (io.Reader, error)
}

// compressions has what kernels are packed by (Kconfig, KERNEL_GZIP and its neighbours), but for LZMA.
var compressions = [...]compression{
	{"XZ", "\xfd7zXZ\x00", func(payload []byte) (io.Reader, error) {
		r, err := xz.NewReader(bytes.NewReader(payload), maxWindow)
		if err == nil {
			r.Multistream(false)
		}
		return r, err
	}},
	{"gzip", "\x1f\x8b", func(payload []byte) (io.Reader, error) {
		r, err := gzip.NewReader(bytes.NewReader(payload))
		if err == nil {
			r.Multistream(false)
		}
		return r, err
	}},
	{"zstd", "\x28\xb5\x2f\xfd", func(payload []byte) (io.Reader, error) {
		return zstd.NewReader(bytes.NewReader(payload[:len(payload)-4]), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(maxKernel), zstd.WithDecoderMaxWindow(maxWindow))
	}},
	{"LZ4", "\x02\x21\x4c\x18", func(payload []byte) (io.Reader, error) { return lz4.NewReader(bytes.NewReader(payload)), nil }},
	{"LZO", lzopMagic, func(payload []byte) (io.Reader, error) { return newLzop(payload) }},
	{"bzip2", "BZh", func(payload []byte) (io.Reader, error) {
		return bzip2.NewReader(bytes.NewReader(payload[:len(payload)-4])), nil
	}},
}

// unpack decompresses the payload of a bzImage. Behind a stream that does not tell the size of its result
// stands that size, in four bytes.
func unpack(payload []byte) ([]byte, error) {
	if bytes.HasPrefix(payload, []byte("\x7fELF")) {
		return payload, nil
	}
	i := slices.IndexFunc(compressions[:], func(c compression) bool { return bytes.HasPrefix(payload, []byte(c.magic)) })
	if i < 0 || len(payload) < 16 {
		return nil, fmt.Errorf("has a payload of unknown compression (% x): XZ, gzip, zstd, LZ4, LZO and bzip2 are read", payload[:min(len(payload), 4)])
	}
	r, err := compressions[i].open(payload)
	var out []byte
	if err == nil {
		out, err = readAll(r, sizeHint(payload))
	}
	if z, ok := r.(*zstd.Decoder); ok && z != nil {
		z.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("has a damaged payload (%s: %w): copy it again", compressions[i].name, err)
	}
	return out, nil
}

// sizeHint is the size of the unpacked kernel that the last bytes of a payload tell, or 0. It is no more than
// a hint: the file may be damaged.
func sizeHint(payload []byte) int {
	if len(payload) < 4 {
		return 0
	}
	n := int(binary.LittleEndian.Uint32(payload[len(payload)-4:]))
	if n > min(32*len(payload), maxKernel) { // a kernel shrinks to a fifth or an eighth
		return 0
	}
	return n
}

// readAll reads up to maxKernel bytes.
func readAll(r io.Reader, hint int) ([]byte, error) {
	out := bytes.NewBuffer(make([]byte, 0, hint+bytes.MinRead))
	n, err := out.ReadFrom(io.LimitReader(r, maxKernel+1))
	if err == nil && n > maxKernel {
		err = fmt.Errorf("unpacks to more than %d bytes", maxKernel)
	}
	return out.Bytes(), err
}
