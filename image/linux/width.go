package linux

import (
	"debug/elf"
	"encoding/binary"
	"strings"
)

// HeadSize is how many bytes of a file Width wants.
const HeadSize = setupEnd

// Width says by the first bytes of a file whether it is a kernel of 64 or of 32 bits; 0 where it is none.
func Width(head []byte) int {
	switch {
	case len(head) < HeadSize:
	case string(head[:4]) == elf.ELFMAG && elf.Class(head[elf.EI_CLASS]) == elf.ELFCLASS64:
		return 64
	case string(head[:4]) == elf.ELFMAG:
		return 32
	case string(head[setupMagic:setupMagic+4]) != "HdrS":
	case binary.LittleEndian.Uint16(head[setupVersion:]) >= 0x20c && head[setupFlags]&1 != 0:
		return 64
	default:
		return 32
	}
	return 0
}

// Version is the release of a kernel as `uname -r` prints it, such as 6.1.0-56-amd64, or "" where it cannot be said.
func (k *Kernel) Version() string {
	text := k.Release
	if banner, ok := k.Image.Symbol("linux_banner"); ok && text == "" {
		const most = 128
		text = strings.TrimPrefix(string(k.Image.Bytes(banner.Addr, most)), "Linux version ")
	}
	text, _, _ = strings.Cut(text, " ")
	return text
}
