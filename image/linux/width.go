package linux

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"strings"
)

// HeadSize is how many bytes of a file Width wants.
const HeadSize = setupEnd

// Machine says by the first bytes of a file which instruction set the kernel in it is of; EM_NONE where it is none.
func Machine(head []byte) elf.Machine {
	switch {
	case len(head) < HeadSize:
	case string(head[:4]) == elf.ELFMAG:
		return elf.Machine(binary.LittleEndian.Uint16(head[18:]))
	case isZImage(head):
		return elf.EM_ARM
	case string(head[setupMagic:setupMagic+4]) != "HdrS":
	case binary.LittleEndian.Uint16(head[setupVersion:]) >= 0x20c && head[setupFlags]&1 != 0:
		return elf.EM_X86_64
	default:
		return elf.EM_386
	}
	return elf.EM_NONE
}

// Version is the release of a kernel as `uname -r` prints it, such as 6.1.0-56-amd64, or "" where it cannot be said.
func (k *Kernel) Version() string {
	const banner, most = "Linux version ", 128
	text := k.Release
	if s, ok := k.Image.Symbol("linux_banner"); ok && text == "" {
		text = strings.TrimPrefix(string(k.Image.Bytes(s.Addr, most)), banner)
	} else if at := bytes.Index(k.File, []byte(banner)); text == "" && at >= 0 { // a kernel that names functions alone
		text = string(k.File[at+len(banner) : min(len(k.File), at+most)])
	}
	text, _, _ = strings.Cut(text, " ")
	return text
}
