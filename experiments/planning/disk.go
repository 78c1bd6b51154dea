package planning

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kprobesim/distro"
	"kprobesim/distro/rootfs"
	"kprobesim/experiments"
	"kprobesim/experiments/schema"
	"kprobesim/image/linux"
	"kprobesim/results/outdir"
)

// disk reads the image of a file system, and from beside the kernel the modules that mount it.
func (l *Loader) disk(w *schema.Working, k *linux.Kernel) error {
	if err := distro.Disks(k); err != nil {
		return err
	}
	image, err := experiments.ReadUpTo(w.Disk.Path, rootfs.Most)
	if err != nil {
		return err
	}
	d := &w.Disk
	d.Image, d.Type = image, fileSystem(image)
	if d.Type == "" {
		return errors.New("is the image of no file system that is known (ext2 to ext4, squashfs, erofs): make one by mkfs, without partitions")
	}
	found, err := modulesOf(k)
	if err != nil {
		return err
	}
	for _, name := range []string{"nd_pmem", "nd_e820", d.Type} {
		if err := found.needed(name, d); err != nil {
			return fmt.Errorf("modules of the kernel: %w", err)
		}
	}
	sums := []string{w.Hash, outdir.Hash(image), d.At}
	for _, m := range d.Modules {
		sums = append(sums, outdir.Hash(m.File))
	}
	w.Hash = outdir.Hash([]byte(strings.Join(sums, " ")))
	l.depend("disk", w.Disk.Path, sums[1])
	return nil
}

// fileSystem is the type of a file system by the magic number in its superblock; "" for one that is not known. The driver ext4 mounts
// ext2 and ext3 too.
func fileSystem(image []byte) string {
	if len(image) < 2048 {
		return ""
	}
	le := binary.LittleEndian
	switch {
	case le.Uint16(image[1024+56:]) == 0xef53:
		return "ext4"
	case string(image[:4]) == "hsqs":
		return "squashfs"
	case le.Uint32(image[1024:]) == 0xe0f5e1e2:
		return "erofs"
	}
	return ""
}

// drivers are the modules that came with a kernel.
type drivers struct {
	dir    string
	files  map[string]string // paths by the names of modules
	within map[string]bool   // these are part of the kernel itself, or have been taken
}

// moduleKey is the name of a module as it is looked for: - and _ are the same.
func moduleKey(name string) string { return strings.ReplaceAll(name, "-", "_") }

// modulesOf lists the modules that came with a kernel. Its package has them in lib/modules/RELEASE, which is looked for beside the
// kernel and beside its folder, or with the kernel in the same folder.
func modulesOf(k *linux.Kernel) (*drivers, error) {
	beside := filepath.Dir(k.Image.Name)
	under := func(at string) string { return filepath.Join(beside, at, "modules", k.Version()) }
	for _, dir := range []string{beside, under("lib"), under("../lib"), under("../usr/lib")} {
		if info, err := os.Stat(filepath.Join(dir, "kernel")); err == nil && info.IsDir() && filepath.Base(dir) == k.Version() {
			return readDrivers(dir)
		}
	}
	return nil, fmt.Errorf("the drivers of a disk are modules of the kernel, and %s is not there: unpack the kernel's package beside it",
		filepath.Join(under("lib"), "kernel"))
}

func readDrivers(dir string) (*drivers, error) {
	d := &drivers{dir, map[string]string{}, map[string]bool{}}
	name := func(file string) (string, bool) {
		name, _, ok := strings.Cut(filepath.Base(file), ".ko")
		return moduleKey(name), ok
	}
	builtin, err := os.ReadFile(filepath.Join(dir, "modules.builtin"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(builtin)) {
		if n, ok := name(strings.TrimSpace(line)); ok {
			d.within[n] = true
		}
	}
	return d, filepath.WalkDir(filepath.Join(dir, "kernel"), func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if n, ok := name(file); ok {
			d.files[n] = file
		}
		return nil
	})
}

// needed adds a module to a disk, behind the modules that it depends on. What it wants before itself of the kernel's
// cryptography (softdep in modprobe.d(5)) is taken if it is there: such algorithms have names of their own.
func (d *drivers) needed(name string, to *schema.Disk) error {
	key := moduleKey(name)
	if d.within[key] {
		return nil
	}
	file := d.files[key]
	if file == "" {
		return fmt.Errorf("%s has no %s", d.dir, name)
	}
	d.within[key] = true
	b, err := experiments.ReadLimited(file)
	if err == nil {
		b, err = rootfs.Unpack(b, maxModule)
	}
	if err != nil {
		return err
	}
	depends, before, err := modinfo(b)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, soft := range strings.Fields(strings.TrimPrefix(before, "pre:")) {
		if generic := strings.TrimPrefix(soft, "crypto-") + "_generic"; d.files[moduleKey(generic)] != "" {
			depends += "," + generic
		}
	}
	for _, other := range strings.FieldsFunc(depends, func(c rune) bool { return c == ',' }) {
		if err := d.needed(other, to); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	to.Modules = append(to.Modules, schema.UserModule{Path: name, File: b})
	return nil
}

// modinfo reads which modules a module depends on, and what it wants before itself.
func modinfo(b []byte) (depends, softdep string, err error) {
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return "", "", err
	}
	s := f.Section(".modinfo")
	if s == nil {
		return "", "", errors.New("has no section .modinfo: unpack the kernel's package again")
	}
	text, err := s.Data()
	for _, entry := range strings.Split(string(text), "\x00") {
		switch key, value, _ := strings.Cut(entry, "="); key {
		case "depends":
			depends = value
		case "softdep":
			softdep = value
		}
	}
	return depends, softdep, err
}

// maxModule bounds the bytes of a module, which the program in the machine must have room for.
const maxModule = 4 << 20
