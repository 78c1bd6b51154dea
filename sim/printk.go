package sim

import (
	"errors"
	"fmt"
	"strings"
)

// printk answers sim_printk: it formats a message of the guest, whose arguments are words in memory.
// Known are %d %i %u %x %p %s %c and %%, with or without l, which makes an integer a word. Widths
// and flags are read over: the console is for messages, not for tables. Printing takes no time
// beside the call.
func (m *Machine) printk(c *Call) uint64 {
	format, err := m.ReadString(c.Arg(0))
	if err != nil {
		m.Stop(errors.Join(errors.New("printk with a bad format"), err))
		return 0
	}
	p := printer{m: m, args: c.Arg(1)}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			p.out.WriteByte(format[i])
			continue
		}
		long := false
		for i++; i < len(format) && strings.IndexByte("l0123456789#-", format[i]) >= 0; i++ {
			long = long || format[i] == 'l'
		}
		if i < len(format) {
			p.conversion(format[i], long)
		}
	}
	m.Print(p.out.String())
	return uint64(p.out.Len())
}

// printer takes a message's arguments one after the other.
type printer struct {
	m    *Machine
	out  strings.Builder
	args uint64 // address of the next one
	used int
}

// printkArgs is the number of arguments that the guest passes (PRINTK_ARGS).
const printkArgs = 5

// next returns the next argument, and whether there is one.
func (p *printer) next() (uint64, bool) {
	size := p.m.cfg.ISA.Bits / 8
	v, err := p.m.Load(p.args, size)
	p.args += uint64(size)
	p.used++
	return v, err == nil && p.used <= printkArgs
}

// conversion writes what it does not know as it came, and marks arguments that are missing: a bad
// message must not stop a run.
func (p *printer) conversion(verb byte, long bool) {
	if verb == '%' {
		p.out.WriteByte('%')
		return
	}
	v, ok := p.next()
	if !ok {
		p.out.WriteString("(?)")
		return
	}
	switch verb {
	case 'd', 'i':
		fmt.Fprintf(&p.out, "%d", p.signed(v, long))
	case 'u':
		fmt.Fprintf(&p.out, "%d", p.unsigned(v, long))
	case 'x':
		fmt.Fprintf(&p.out, "%x", p.unsigned(v, long))
	case 'p':
		fmt.Fprintf(&p.out, "%#0*x", p.m.cfg.ISA.Bits/4, v)
	case 'c':
		p.out.WriteByte(byte(v))
	case 's':
		s, err := p.m.ReadString(v)
		if err != nil {
			s = "(bad string)"
		}
		p.out.WriteString(s)
	default:
		fmt.Fprintf(&p.out, "%%%c", verb)
	}
}

// unsigned takes from a word what belongs to an integer of the type that the format says.
func (p *printer) unsigned(v uint64, long bool) uint64 {
	if long {
		return v
	}
	return uint64(uint32(v))
}

func (p *printer) signed(v uint64, long bool) int64 {
	if long && p.m.cfg.ISA.Bits == 64 {
		return int64(v)
	}
	return int64(int32(v))
}
