package measuring

import (
	"encoding/binary"
	"fmt"
	"strings"

	"kprobesim/distro"
	"kprobesim/distro/attaching"
	"kprobesim/image/linux"
	"kprobesim/internal/clock"
)

// Lab is a kernel that has booted to the program, which waits for orders. It does not change: several goroutines may use
// it.
type Lab struct {
	config  distro.Config
	program *program
	root    []byte      // an archive of the files around the program; nil for none
	disk    *Disk       // nil for none
	cpu     int         // on which the program waits
	booted  clock.Ticks // when it came to wait
	fields  taskFields
}

// labRAM is the memory of a machine that is given none: a measurement needs little, and each has a copy.
const labRAM = 192 << 20

// Boot boots a kernel without the cost model until the program waits for orders. The initial file system of c is
// replaced by one with the program and files. It fails for a kernel that does not come so far.
func Boot(c distro.Config, files ...distro.File) (*Lab, error) {
	f, err := distro.Measure(c.Kernel)
	if err != nil {
		return nil, err
	}
	c.Initrd = nil
	return boot(c, f, files...)
}

// BootAttaching is Boot for orders with attachments.
func BootAttaching(c distro.Config) (*Lab, error) {
	f, err := distro.Attach(c.Kernel)
	if err != nil {
		return nil, err
	}
	c.Initrd = nil
	return boot(c, f)
}

func boot(c distro.Config, f distro.File, files ...distro.File) (*Lab, error) {
	p, err := readProgram(f, c.Kernel.Image.Bits)
	if err != nil {
		return nil, err
	}
	if c.RAM == 0 {
		c.RAM = labRAM
	}
	l := &Lab{program: p, root: c.Initrd}
	c.Initrd = append(distro.Initrd(append([]distro.File{p.file}, files...)), c.Initrd...)
	c.From, c.Untimed = nil, true
	l.config = c
	if l.recall() {
		return l, nil
	}
	s, err := l.start()
	if err != nil {
		return nil, err
	}
	defer s.free()
	if err := s.until(markers[0]); err != nil {
		return nil, fmt.Errorf("boot of %s: %w", c.Kernel.Image.Name, err)
	}
	l.cpu, l.booted = s.cpu, s.m.CPU(s.cpu).Now()
	if l.config.From, err = distro.Snapshot(c, s.m); err != nil {
		return nil, err
	}
	if at, err := attaching.Offsets(c.Kernel.Content("BTF"), "task_struct", "comm", "flags"); err == nil {
		l.fields = taskFields{at[0], at[1]}
	} // a kernel without types does not tell of processes
	l.remember(c)
	return l, nil
}

// remember keeps the state behind the boot with the configuration that booted.
func (l *Lab) remember(c distro.Config) {
	var b []byte
	for _, n := range []uint64{uint64(l.cpu), uint64(l.booted), l.fields.name, l.fields.flags} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	c.Remember(markers[0], append(b, l.config.From...))
}

// recall finds what remember has kept, perhaps in another process.
func (l *Lab) recall() bool {
	b, ok := l.config.Recall(markers[0])
	if !ok || len(b) < 32 {
		return false
	}
	n := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	l.cpu, l.booted, l.fields, l.config.From = int(n(0)), clock.Ticks(n(1)), taskFields{n(2), n(3)}, b[32:]
	return true
}

// Under is the lab with another Halt (sim.Config) for its runs.
func (l *Lab) Under(halt func() error) *Lab {
	other := *l
	other.config.Halt = halt
	return &other
}

// Kernel returns the kernel.
func (l *Lab) Kernel() *linux.Kernel { return l.config.Kernel }

// Symbol returns the address of a symbol of the program, such as user_function.
func (l *Lab) Symbol(name string) (uint64, bool) {
	s, ok := l.program.symbols[name]
	return s.Value, ok
}

// Place is an instruction of the program.
type Place struct {
	Addr        uint64
	File        uint64 // where it lies in the file /init, as modules name it to put a probe of user mode there
	Instruction string
}

// Place finds an instruction of the program, SYMBOL or SYMBOL+OFFSET. It fails for what the program has not, and for a
// place in the middle of an instruction: a kernel would put a probe there all the same.
func (l *Lab) Place(text string) (Place, error) {
	at, err := l.program.resolve(text)
	if err != nil {
		return Place{}, err
	}
	name, _, _ := strings.Cut(text, "+")
	file, start := l.program.file.Data, l.program.symbols[name].Value
	if size := uint64(len(file)); start-l.program.text >= size || at-l.program.text >= size {
		return Place{}, fmt.Errorf("place %s%s: the program has no instructions there", own, text)
	}
	if err := distro.Begins(l.config.Kernel, file[start-l.program.text:], at-start); err != nil {
		return Place{}, fmt.Errorf("place %s%s: the function has %w", own, text, err)
	}
	said, _ := distro.Instruction(l.config.Kernel, file[at-l.program.text:], at)
	return Place{at, at - l.program.text, said}, nil
}
