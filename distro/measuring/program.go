package measuring

import (
	"bytes"
	"debug/elf"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kprobesim/distro"
)

// program is the program that carries orders out, as far as its file tells.
type program struct {
	file    distro.File
	word    int                  // bytes
	marks   [len(markers)]uint64 // addresses of the markers
	symbols map[string]elf.Symbol
	text    uint64 // the address of the start of its file
	code    elf.ProgHeader
}

// markers are the symbols at which the program stops for somebody who watches, in the order of their stops.
var markers = [...]string{"mark_orders", "mark_warm", "mark_begin", "mark_end"}

// readProgram reads the program in a file for kernels of 64 or 32 bits.
func readProgram(f distro.File, bits int) (*program, error) {
	e, err := elf.NewFile(bytes.NewReader(f.Data))
	if err != nil {
		return nil, fmt.Errorf("the program %s: %w", f.Name, err)
	}
	list, err := e.Symbols()
	if err != nil {
		return nil, fmt.Errorf("the program %s: %w", f.Name, err)
	}
	p := &program{file: f, word: bits / 8, symbols: map[string]elf.Symbol{}, text: e.Progs[0].Vaddr - e.Progs[0].Off}
	for _, s := range list {
		p.symbols[s.Name] = s
	}
	for _, part := range e.Progs {
		if part.Type == elf.PT_LOAD && part.Flags&elf.PF_X != 0 {
			p.code = part.ProgHeader
		}
	}
	for _, name := range append(markers[:], "orders", "answers") {
		if _, ok := p.symbols[name]; !ok {
			return nil, fmt.Errorf("the program %s has no symbol %s: build it again", f.Name, name)
		}
	}
	for i, name := range markers {
		p.marks[i] = p.symbols[name].Value
	}
	return p, nil
}

// marker names the marker at an address; "" where none is.
func (p *program) marker(pc uint64) string {
	if i := slices.Index(p.marks[:], pc); i >= 0 {
		return markers[i]
	}
	return ""
}

// spans are the instructions of the markers.
func (p *program) spans() (out [][2]uint64) {
	for _, at := range p.marks {
		out = append(out, [2]uint64{at, at + 1})
	}
	return out
}

// own is the prefix of places in the program.
const own = "/init:"

// resolve finds SYMBOL or SYMBOL+OFFSET of the program.
func (p *program) resolve(place string) (uint64, error) {
	name, offset, found := strings.Cut(place, "+")
	s, ok := p.symbols[name]
	if !ok {
		return 0, fmt.Errorf("place %s%s: the program has no symbol %s", own, place, name)
	}
	if !found {
		return s.Value, nil
	}
	off, err := strconv.ParseUint(offset, 0, 32)
	if err != nil {
		return 0, fmt.Errorf("place %s%s: write the offset as a number, such as %s+0x1", own, place, name)
	}
	return s.Value + off, nil
}

// inFile replaces places of the program in a line for uprobe_events by offsets in its file, as the kernel wants them.
func (p *program) inFile(line string) (string, error) {
	fields := strings.Fields(line)
	for i, f := range fields {
		place, ok := strings.CutPrefix(f, own)
		if !ok || strings.HasPrefix(place, "0x") {
			continue
		}
		at, err := p.resolve(place)
		if err != nil {
			return "", err
		}
		fields[i] = fmt.Sprintf("%s%#x", own, at-p.text)
	}
	return strings.Join(fields, " "), nil
}
