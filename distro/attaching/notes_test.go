package attaching

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// noted is a program of which 0x1000 bytes from offset 0x200 on lie at 0x400000, with notes of static probes in a section, and where base
// is not 0, with one that says where it lies now.
func noted(t *testing.T, notes []byte, base uint64) *userFile {
	t.Helper()
	const headers = 64 + 56
	names := "\x00.note.stapsdt\x00.stapsdt.base\x00.shstrtab\x00"
	sections := []elf.Section64{
		{}, {Name: 1, Type: uint32(elf.SHT_NOTE), Off: headers, Size: uint64(len(notes))}, {Name: 30, Type: uint32(elf.SHT_STRTAB), Off: headers + uint64(len(notes)), Size: uint64(len(names))},
	}
	if base != 0 {
		sections = append(sections, elf.Section64{Name: 15, Type: uint32(elf.SHT_PROGBITS), Addr: base})
	}
	var b bytes.Buffer
	h := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: 64, Shoff: uint64(headers + len(notes) + len(names)), Ehsize: 64, Phentsize: 56, Phnum: 1,
		Shentsize: 64, Shnum: uint16(len(sections)), Shstrndx: 2,
	}
	copy(h.Ident[:], elf.ELFMAG+"\x02\x01\x01")
	for _, part := range []any{h, elf.Prog64{Type: uint32(elf.PT_LOAD), Off: 0x200, Vaddr: 0x400000, Filesz: 0x1000, Memsz: 0x2000}, notes, []byte(names), sections} {
		require.NoError(t, binary.Write(&b, binary.LittleEndian, part))
	}
	return &userFile{File: require.Must(elf.NewFile(bytes.NewReader(b.Bytes())))(t), path: "/program"}
}

// note is a note of an owner, of a kind, with three addresses and three texts.
func note(owner string, kind uint32, at, base, listeners uint64, texts string) []byte {
	le := binary.LittleEndian
	var body []byte
	for _, v := range []uint64{at, base, listeners} {
		body = le.AppendUint64(body, v)
	}
	body = append(body, texts...)
	pad := func(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }
	b := le.AppendUint32(nil, uint32(len(owner)))
	b = le.AppendUint32(le.AppendUint32(b, uint32(len(body))), kind)
	return append(append(b, pad([]byte(owner))...), pad(body)...)
}

// TestStatics finds the places of a static probe among notes of others, also where the program has moved since they were written.
func TestStatics(t *testing.T) {
	const texts = "own\x00step\x00-4@%eax\x00"
	one, two := note("stapsdt\x00", 3, 0x400010, 0x9000, 0x400800, texts), note("stapsdt\x00", 3, 0x400020, 0x9000, 0, "own\x00step\x008@%rdx 4@$1\x00")
	for name, x := range map[string]struct {
		notes []byte
		base  uint64
		want  string
	}{
		"one":      {one, 0, "[{528 2560 -4@%eax}]"},
		"several":  {bytes.Join([][]byte{note("GNU\x00", 1, 1, 2, 3, texts), one, note("stapsdt\x00", 3, 1, 2, 3, "own\x00other\x00\x00"), note("odd\x00\x00", 3, 1, 2, 3, "other\x00step\x00\x00"), two}, nil), 0, "[{528 2560 -4@%eax} {544 0 8@%rdx 4@$1}]"},
		"moved":    {two, 0x9100, "[{800 0 8@%rdx 4@$1}]"},
		"short":    {append(note("stapsdt\x00", 3, 0, 0, 0, ""), two...), 0, "[{544 0 8@%rdx 4@$1}]"},
		"cut":      {one[:len(one)-8], 0, "damaged notes of static probes"},
		"tail":     {append(bytes.Clone(two), 1, 2, 3), 0, "[{544 0 8@%rdx 4@$1}]"},
		"outside":  {note("stapsdt\x00", 3, 0x401000, 0, 0, texts), 0, "a static probe own:step outside of what is loaded"},
		"at last":  {note("stapsdt\x00", 3, 0x400fff, 0, 0, texts), 0, "[{4607 0 -4@%eax}]"},
		"before":   {note("stapsdt\x00", 3, 0x3fffff, 0, 0, texts), 0, "outside of what is loaded"},
		"counter":  {note("stapsdt\x00", 3, 0x400010, 0, 0x402000, texts), 0, "outside of what is loaded"},
		"none":     {note("stapsdt\x00", 3, 0x400010, 0, 0, "own\x00steps\x00\x00"), 0, "no static probe own:step"},
		"no texts": {note("stapsdt\x00", 3, 0x400010, 0, 0, "own\x00step"), 0, "no static probe own:step"},
		"nothing":  {nil, 0, "no static probe own:step"},
	} {
		found, err := noted(t, x.notes, x.base).statics("own", "step")
		if err == nil {
			require.Equal(t, fmt.Sprint(found), x.want, "%s", name)
		} else {
			require.That(t, strings.Contains(err.Error(), x.want) && found == nil, "%s: %v, %v; want %s", name, found, err, x.want)
		}
	}
	require.Error(t, require.Err((&userFile{File: &elf.File{}}).statics("own", "step")), "no static probes", "a program without notes")
}

// TestStaticsOf32Bits reads notes whose addresses have four bytes.
func TestStaticsOf32Bits(t *testing.T) {
	le := binary.LittleEndian
	var body []byte
	for _, v := range []uint32{0x400010, 0x9000, 0x400800} {
		body = le.AppendUint32(body, v)
	}
	body = append(body, "own\x00step\x00-4@[r11, #-8]\x00"...)
	b := le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, 8), uint32(len(body))), 3)
	f := noted(t, append(append(b, "stapsdt\x00"...), append(body, make([]byte, -len(body)&3)...)...), 0x9100)
	f.Class = elf.ELFCLASS32
	found, err := f.statics("own", "step")
	require.That(t, err == nil && fmt.Sprint(found) == "[{784 2560 -4@[r11, #-8]}]", "%v, %v", found, err)
}
