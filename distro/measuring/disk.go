package measuring

import (
	"bytes"
	"debug/elf"
	"fmt"
	"strconv"
	"strings"

	"kprobesim/distro/attaching"
	"kprobesim/image"
)

// Disk is a file system that a kernel of x86 has as a disk: memory that its map of memory calls persistent.
type Disk struct {
	Image   []byte   // the file system, as mkfs(8) makes it; what a command writes is forgotten behind it
	Type    string   // as mount(2) names it
	At      string   // the folder where it is mounted; it is made if it is not there
	Modules []Module // the drivers, in the order of their insertion
}

// diskName names the first disk of persistent memory in a kernel.
const diskName = "/dev/pmem0"

// mount puts the disk into memory at a physical address and has the kernel mount it. A nil disk is none.
func (d *Disk) mount(s *session, pa uint64) error {
	if d == nil {
		return nil
	}
	if err := s.m.WritePhysical(pa, d.Image); err != nil {
		return err
	}
	for _, m := range d.Modules {
		if _, err := s.do(insert(m)); err != nil {
			return err
		}
	}
	if err := s.names(d.Modules); err != nil {
		return err
	}
	g := guest{session: s}
	if err := g.appears(diskName); err != nil {
		return err
	}
	m := g.Memory()
	at := m.Text(d.At)
	if _, err := g.Call(s.arch().calls.mkdir, [6]uint64{at, 0o755}, m); err != nil { // one that is there is as good, and without one it is not mounted
		return err
	}
	m = g.Memory()
	args := [6]uint64{m.Text(diskName), m.Text(d.At), m.Text(d.Type)}
	n, err := g.Call(s.arch().calls.mount, args, m)
	if err == nil && n < 0 {
		err = fmt.Errorf("the kernel does not mount a file system of the type %s at %s: %s; the end of the console:\n%s", d.Type, d.At, attaching.Errno(int(-n)), s.tail())
	}
	return err
}

// appears waits until a file is there: drivers look for their devices when they have time.
func (g guest) appears(path string) (err error) {
	for range 50 {
		if _, err = g.open(path, false); err == nil {
			return nil
		}
		if _, err := g.do(numbers(sleep, "sleep", 10)); err != nil {
			return err
		}
	}
	return fmt.Errorf("the drivers make no disk: %w; the end of the console:\n%s", err, g.tail())
}

// names makes the functions of inserted modules known, which phases and profiles are told by.
func (s *session) names(inserted []Module) error {
	var all []image.Module
	for _, m := range inserted {
		f, err := elf.NewFile(bytes.NewReader(m.File))
		if err != nil {
			return fmt.Errorf("module %s: %w", m.Name, err)
		}
		symbols, err := f.Symbols()
		if err != nil {
			return fmt.Errorf("module %s: %w", m.Name, err)
		}
		own := image.Module{Name: m.Name}
		at := map[string]uint64{} // of sections with code
		for _, sym := range symbols {
			if elf.ST_TYPE(sym.Info) != elf.STT_FUNC || sym.Section == elf.SHN_UNDEF || int(sym.Section) >= len(f.Sections) {
				continue
			}
			in := f.Sections[sym.Section].Name
			if strings.HasPrefix(in, ".init") || strings.HasPrefix(in, ".exit") {
				continue
			}
			if _, ok := at[in]; !ok {
				if at[in], err = s.section(m.Name, in); err != nil {
					return err
				}
				own.Sections = append(own.Sections, image.ModuleSection{Name: in, Addr: at[in], Size: f.Sections[sym.Section].Size, Exec: true})
			}
			own.Symbols = append(own.Symbols, image.NewSymbol(sym.Name, at[in]+sym.Value, sym.Size, true, elf.ST_BIND(sym.Info) != elf.STB_LOCAL, in))
		}
		all = append(all, own)
	}
	return s.m.Image().AddModule(all...)
}

// section is where the kernel has put a section of a module.
func (s *session) section(module, name string) (uint64, error) {
	said, err := s.do(show("/sys/module/" + strings.ReplaceAll(module, "-", "_") + "/sections/" + name))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(said[0])), 0, 64)
}
