package measuring

import (
	"debug/elf"
	"encoding/binary"
	"errors"

	"kprobesim/distro"
	"kprobesim/distro/attaching"
	"kprobesim/distro/rootfs"
)

// guest is the program of a session as package attaching sees it.
type guest struct {
	*session
	arming *Arming // what calls take that attach something is added up here; nil to measure none
}

// Machine implements attaching.Guest.
func (g guest) Machine() elf.Machine { return g.kernel.Image.Machine }

// Memory implements attaching.Guest. It lies behind the first order, whose kind and size are 8 bytes, for a system call: a number and
// six arguments.
func (g guest) Memory() *attaching.Memory {
	return &attaching.Memory{Base: g.program.symbols["orders"].Value + 8 + uint64(len(padded(make([]byte, 7*g.program.word))))}
}

// Call implements attaching.Guest.
func (g guest) Call(number uint64, args [6]uint64, m *attaching.Memory) (int64, error) {
	var b []byte
	for _, a := range append([]uint64{number}, args[:]...) {
		b = append(b, binary.LittleEndian.AppendUint64(nil, a)[:g.program.word]...)
	}
	said, err := g.measured(attaching.Attaches(g.Machine(), number, args[0]), command{systemCall, append(padded(b), m.Data...), "make a system call"})
	if err != nil {
		return 0, err
	}
	if len(said[0]) != g.program.word {
		return 0, errors.New("the program does not tell what a system call returned")
	}
	if m.Data, err = g.m.ReadBytes(m.Base, len(m.Data)); err != nil {
		return 0, err
	}
	return returned(said[0]), nil
}

// wide is a number of up to 8 bytes.
func wide(b []byte) uint64 {
	return binary.LittleEndian.Uint64(append(b[:len(b):len(b)], make([]byte, 8-len(b))...))
}

// returned extends the result of a system call: of four bytes the last page is errors, and the rest below it addresses.
func returned(b []byte) int64 {
	if len(b) == 8 {
		return int64(binary.LittleEndian.Uint64(b))
	}
	const errs = 1<<32 - 4096
	if n := binary.LittleEndian.Uint32(b); n < errs {
		return int64(n)
	} else {
		return int64(int32(n))
	}
}

// ReadFile implements attaching.Guest.
func (g guest) ReadFile(path string) (string, error) {
	said, err := g.do(show(path))
	if err != nil {
		return "", err
	}
	return string(said[0]), nil
}

// WriteFile implements attaching.Guest.
func (g guest) WriteFile(path, text string) error {
	_, err := g.measured(true, write(path, text))
	return err
}

// measured has an order carried out, with the cost model if it is one that attaches and somebody asks for that.
func (g guest) measured(attaches bool, c command) ([][]byte, error) {
	if g.arming == nil || !attaches {
		return g.do(c)
	}
	before := g.counters()
	g.timed(true)
	said, err := g.do(c)
	g.timed(false)
	g.arming.add(armed(before, g.counters()))
	return said, err
}

// File implements attaching.Guest.
func (g guest) File(name string) (string, []byte, error) {
	root := rootfs.Tree{}
	if len(g.root) > 0 {
		if _, err := root.Archive(g.root); err != nil {
			return "", nil, err
		}
	}
	root.Put(g.program.file)
	return root.Program(name)
}

// Begins implements attaching.Guest.
func (g guest) Begins(code []byte, offset uint64) error { return distro.Begins(g.kernel, code, offset) }

// attach attaches what an order says; nil for nothing.
func (l *Lab) attach(s *session, o *Order) (*attaching.Attached, error) {
	if o.Attach == nil {
		return nil, nil
	}
	a := *o.Attach
	a.Hits = uint64(o.Warm + o.Calls)
	return l.attachTo(guest{session: s, arming: o.arming}, a, o.Attached)
}

// attachTo attaches something and tells attached of it, if that is not nil.
func (l *Lab) attachTo(g guest, a attaching.Attachment, attached func(*attaching.Attached)) (*attaching.Attached, error) {
	p, err := attaching.Attach(g, a, l.config.Kernel.Content("BTF"))
	if err == nil && attached != nil {
		attached(p)
	}
	return p, err
}

// counted is how often a program has counted itself so far; false for one that does not, and for nil.
func (s *session) counted(p *attaching.Attached) (n uint64, ok bool, err error) {
	if p == nil {
		return 0, false, nil
	}
	for _, r := range p.Rings {
		position, err := s.word(r.Addr, r.Word)
		if err == nil {
			err = filled(r, position)
		}
		if err != nil {
			return 0, false, err
		}
	}
	at, width, unit := p.Counter()
	if unit == 0 {
		return 0, false, nil
	}
	b, err := s.m.ReadBytes(at, width)
	if err != nil {
		return 0, false, err
	}
	return wide(b) / unit, true, nil
}
