package planning_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/image/linux/linuxtest"
	"kprobesim/internal/require"
)

// koFile is a module that has nothing but a section .modinfo.
func koFile(t *testing.T, info ...string) string {
	const names = "\x00.modinfo\x00"
	text := strings.Join(info, "\x00") + "\x00"
	var b bytes.Buffer
	h := elf.Header64{
		Type: uint16(elf.ET_REL), Machine: uint16(elf.EM_X86_64), Version: 1, Shoff: uint64(64 + len(names) + len(text)),
		Ehsize: 64, Shentsize: 64, Shnum: 3, Shstrndx: 1,
	}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	section := func(name, kind uint32, at, size int) elf.Section64 {
		return elf.Section64{Name: name, Type: kind, Off: uint64(at), Size: uint64(size), Addralign: 1}
	}
	for _, v := range []any{
		h, []byte(names), []byte(text),
		elf.Section64{},
		section(0, uint32(elf.SHT_STRTAB), 64, len(names)), section(1, uint32(elf.SHT_PROGBITS), 64+len(names), len(text)),
	} {
		require.NoError(t, binary.Write(&b, binary.LittleEndian, v))
	}
	return b.String()
}

// ext4 is the beginning of a file system that ext4 mounts.
func ext4() string {
	b := make([]byte, 4096)
	b[1024+56], b[1024+57] = 0x53, 0xef
	return string(b)
}

// TestDisk finds the drivers of a disk among the modules that came with the kernel, in the order in which they need each other, and says
// what is missing.
func TestDisk(t *testing.T) {
	dir := kernels(t, map[string]int{"vmlinuz-6.1.0-9": 64})
	t.Setenv(planning.KernelFolder, dir)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "busybox", "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "busybox", "bin", "busybox"), []byte("busybox"), 0o755))
	image := exptest.Write(t, dir, "image", ext4())
	modules := filepath.Join(dir, "lib", "modules", linuxtest.Release)
	put := func(file string, info ...string) {
		t.Helper()
		file = filepath.Join(modules, "kernel", file)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(koFile(t, info...)), 0o644))
	}
	refused := func(want string, sets ...string) {
		t.Helper()
		_, err := planning.NewLoader().Plan("linux-workload", append([]string{"workload.disk=" + image}, sets...))
		require.Error(t, err, want, "%v", sets)
	}
	refused(filepath.Join("lib", "modules", linuxtest.Release, "kernel") + " is not there: unpack the kernel's package beside it")
	put("nvdimm/nd_pmem.ko", "depends=libnvdimm,nd_btt")
	refused("nd_pmem: " + modules + " has no libnvdimm")
	put("nvdimm/libnvdimm.ko", "license=GPL", "depends=")
	put("nvdimm/nd_btt.ko", "depends=libnvdimm")
	put("nvdimm/nd_e820.ko", "depends=libnvdimm")
	put("fs/ext4/ext4.ko", "depends=jbd2,mb-cache", "softdep=pre: crypto-sum other crypto-none")
	put("fs/jbd2.ko", "softdep=pre: check")
	put("crypto/check_generic.ko", "depends=")
	put("crypto/sum_generic.ko", "depends=jbd2")
	exptest.Write(t, modules, "modules.builtin", "kernel/fs/mb-cache.ko\nkernel/drivers/other.ko\n")

	p := require.Must(planning.NewLoader().Plan("linux-workload", []string{"workload.disk=" + image}))(t)
	d := p.Points[0].Linux.Working.Disk
	var names []string
	for _, m := range d.Modules {
		names = append(names, m.Path)
	}
	require.Equal(t, strings.Join(names, " "), "libnvdimm nd_btt nd_pmem nd_e820 check_generic jbd2 sum_generic ext4", "modules")
	require.Equal(t, d.Type+" "+d.At, "ext4 /disk", "the disk is mounted as")
	require.That(t, string(d.Image) == ext4(), "the image is another one")
	require.That(t, strings.Contains(p.Points[0].Linux.Command, "pci=conf1"), "the kernel gets %q", p.Points[0].Linux.Command)
	key := func(sets ...string) [32]byte {
		return require.Must(planning.NewLoader().Plan("linux-workload", append([]string{"workload.disk=" + image}, sets...)))(t).Points[0].Key("")
	}
	one := key()
	require.That(t, key() == one, "the same disk has two keys")
	require.That(t, key("workload.mount=/mnt") != one, "where it is mounted is no part of what a measurement follows from")
	exptest.Write(t, modules, "kernel/fs/jbd2.ko", koFile(t, "depends="))
	require.That(t, key() != one, "the modules are no part of it")

	kernel := require.Must(os.ReadFile(filepath.Join(dir, "vmlinuz-6.1.0-9")))(t)
	for _, other := range []string{filepath.Join(modules, "vmlinuz"), filepath.Join(dir, "boot", "vmlinuz")} { // as packages have them
		require.NoError(t, os.MkdirAll(filepath.Dir(other), 0o755))
		require.NoError(t, os.WriteFile(other, kernel, 0o644))
		p := require.Must(planning.NewLoader().Plan("linux-workload", []string{"workload.disk=" + image, "linux.kernel=" + other}))(t)
		require.Equal(t, len(p.Points[0].Linux.Working.Disk.Modules), 7, "drivers of %s", other)
	}

	for kind, magic := range map[string]string{"squashfs": "hsqs" + strings.Repeat("\x00", 2044), "erofs": strings.Repeat("\x00", 1024) + "\xe2\xe1\xf5\xe0" + strings.Repeat("\x00", 1020)} {
		exptest.Write(t, dir, "image", magic)
		refused("modules of the kernel: " + modules + " has no " + kind)
	}
	exptest.Write(t, dir, "image", strings.Repeat("\x00", 4096))
	refused("is the image of no file system that is known")
	exptest.Write(t, dir, "image", ext4()[:2047])
	refused("is the image of no file system that is known")
	exptest.Write(t, dir, "image", ext4())
	refused("linux.append: a kernel finds the disk with pci=conf1 alone", "linux.append=console=ttyS0 pci=off")
	refused("mount: write the path of a folder", "workload.mount=disk")
	refused("mount: write the path of a folder", "workload.mount=/.")
	exptest.Write(t, modules, "kernel/fs/jbd2.ko", strings.Repeat("no module", 100))
	refused("jbd2.ko: bad magic number")
	put("fs/jbd2.ko")
	b := []byte(koFile(t))
	b[bytes.IndexByte(b, 'm')] = 'n' // another section
	exptest.Write(t, modules, "kernel/fs/jbd2.ko", string(b))
	refused("jbd2.ko: has no section .modinfo")
	_, err := planning.NewLoader().Plan("linux-workload", []string{"workload.mount=/mnt"})
	require.Error(t, err, "there is no disk", "a folder for no disk")
}
