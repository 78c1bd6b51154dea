package distro_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/boards/pc"
	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/cpus/x86"
	"kprobesim/distro"
	kernel "kprobesim/image/linux"
	"kprobesim/image/linux/linuxtest"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// speaks is code of 64 and of 32 bits that prints the command line and the first byte of the initial file
// system at the serial port, if the boot parameters have their signature, and resets the machine.
var speaks = []byte{
	0x66, 0x81, 0xbe, 0xfe, 0x01, 0x00, 0x00, 0x55, 0xaa, // cmp word [si+0x1fe], 0xaa55
	0x75, 0x22, // jne to hlt
	0x8b, 0x9e, 0x28, 0x02, 0x00, 0x00, // mov ebx, [si+0x228]: the command line
	0x66, 0xba, 0xf8, 0x03, // mov dx, 0x3f8
	0x8a, 0x03, // mov al, [bx]
	0x84, 0xc0, // test al, al
	0x74, 0x05, // je behind the loop
	0xee,       // out dx, al
	0xff, 0xc3, // inc ebx
	0xeb, 0xf5, // jmp to mov al
	0x8b, 0x9e, 0x18, 0x02, 0x00, 0x00, // mov ebx, [si+0x218]: the initial file system
	0x8a, 0x03, // mov al, [bx]
	0xee,       // out dx, al
	0xb0, 0xfe, // mov al, 0xfe
	0xe6, 0x64, // out 0x64, al
	0xf4, // hlt
}

// config is a machine for a made-up kernel.
func config(t testing.TB, k linuxtest.Kernel) distro.Config {
	t.Helper()
	read := require.Must(kernel.Read("made-up", linuxtest.Boxed(k.ELF()), nil))(t)
	first := require.Must(distro.First(read))(t)
	isa := x86.ISA64()
	if k.Bits == 32 {
		isa = x86.ISA32()
	}
	return distro.Config{
		Kernel: read, CPU: cpustest.Config(isa), Board: pc.Legacy{}, RAM: 32 << 20,
		Command: "hello 6.1", Initrd: distro.Initrd([]distro.File{first}),
	}
}

// TestEntry enters kernels of 64 and of 32 bits, which find what the loader has put into memory.
func TestEntry(t *testing.T) {
	for _, bits := range []int{64, 32} {
		m, err := distro.Run(config(t, linuxtest.Kernel{Bits: bits, Code: speaks}), distro.Stop{})
		if err != nil {
			t.Errorf("%d bits: %v", bits, err)
			continue
		}
		got := m.Console()
		require.That(t, got == "hello 6.10" && strings.Contains(m.Ended(), "reset"), "%d bits: console %q, ended by %q", bits, got, m.Ended())
	}
}

// TestStops ends at a symbol, at a text, and by what kernels say last.
func TestStops(t *testing.T) {
	much := strings.Repeat("what is printed before. ", 50)
	for _, c := range []struct {
		command string
		stop    distro.Stop
		ended   string
		console string
	}{
		{"hello 6.1", distro.Stop{Symbol: linuxtest.Name(4)[1:]}, distro.AtSymbol, "hello 6.1"},
		{"hello 6.1", distro.Stop{Text: "lo 6"}, distro.AtText, "hello 6"},
		{"reboot: System halted\n", distro.Stop{}, distro.Halted, "reboot: System halted\n"},
		{"---[ end Kernel panic - not", distro.Stop{}, distro.Panicked, "---[ end Kernel panic"},
		{much + "reboot: Power down\n", distro.Stop{}, distro.Halted, much + "reboot: Power down\n"},
		{much + "text, and more", distro.Stop{Text: much[len(much)-100:] + "text"}, distro.AtText, much + "text"},
	} {
		conf := config(t, linuxtest.Kernel{Bits: 64, Code: speaks, Flat: true})
		conf.Command = c.command
		var shown strings.Builder
		conf.Print = func(_ *sim.Machine, s string) { shown.WriteString(s) }
		m, err := distro.Run(conf, c.stop)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		require.That(t, m.Ended() == c.ended && m.Console() == c.console && shown.String() == c.console, "%+v: ended by %q, console %q", c, m.Ended(), m.Console())
	}
}

// TestRunTimed boots quickly to a text, and with the cost model from there on: a clock that comes earlier is the later in the end.
func TestRunTimed(t *testing.T) {
	ended := map[string]clock.Ticks{}
	for _, text := range []string{"hel", "hello 6.", "nothing"} {
		m := require.Must(distro.RunTimed(config(t, linuxtest.Kernel{Bits: 64, Code: speaks}), text))(t)
		require.That(t, m.Console() == "hello 6.10" && strings.Contains(m.Ended(), "reset"), "%q: console %q, ended by %q", text, m.Console(), m.Ended())
		ended[text] = m.CPU(0).Now()
	}
	require.That(t, ended["hel"] > ended["hello 6."] && ended["hello 6."] > ended["nothing"], "ended at %v", ended)
	c := config(t, linuxtest.Kernel{Bits: 64, Code: []byte{0xeb, 0xfe}})
	c.Budget = clock.FromCycles(1000)
	require.Error(t, require.Err(distro.RunTimed(c, "nothing")), "budget", "a kernel that loops")
}

// TestRefused holds what is said of what cannot be booted.
func TestRefused(t *testing.T) {
	for want, change := range map[string]func(*distro.Config){
		"the command line has 5000 bytes, and the kernel takes 2047": func(c *distro.Config) { c.Command = strings.Repeat("x", 5000) },
		"16 MiB of memory are too few":                               func(c *distro.Config) { c.RAM = 16 << 20 },
		"at most 3 GiB are modelled":                                 func(c *distro.Config) { c.RAM = math.MaxInt },
		"3223322624 bytes of memory: at most 3 GiB":                  func(c *distro.Config) { c.RAM, c.Persistent = 1<<30+1, 1<<31-1 },
		"give the machine more":                                      func(c *distro.Config) { c.Initrd = make([]byte, 20<<20) },
	} {
		c := config(t, linuxtest.Kernel{Bits: 64, Code: speaks})
		change(&c)
		require.Error(t, require.Err(distro.New(c)), want, "")
	}
	_, err := distro.Run(config(t, linuxtest.Kernel{Bits: 64, Code: speaks}), distro.Stop{Symbol: "nowhere"})
	require.Error(t, err, "has no function nowhere", "a symbol that does not exist")
	c := config(t, linuxtest.Kernel{Bits: 64, Code: []byte{0xeb, 0xfe}}) // jmp to itself
	c.Budget = clock.FromCycles(10_000)
	require.Error(t, require.Err(distro.Run(c, distro.Stop{})), "budget of 10000 cycles", "a kernel that loops")
}

// TestInitrd has cpio list and unpack what Initrd writes.
func TestInitrd(t *testing.T) {
	files := []distro.File{
		{Name: "bin", Mode: distro.ModeFolder},
		{Name: "bin/one", Mode: distro.ModeProgram, Data: []byte("first")},
		{Name: "two", Mode: distro.ModeFile, Data: []byte("second file")},
		{Name: "none", Mode: distro.ModeFile},
	}
	b := distro.Initrd(files)
	require.That(t, bytes.Equal(b, distro.Initrd(files)), "two archives of the same files differ")
	require.Equal(t, fmt.Sprintf("%.6x", sha256.Sum256(b)), "822aad436c00", "the archive has the sum")
	if len(b)%4 != 0 || !bytes.HasPrefix(b, []byte("070701")) {
		t.Errorf("%d bytes that begin with %q", len(b), b[:6])
	}
	hosttools.Need(t, "cpio", "cpio", "unpacking with cpio")
	dir := t.TempDir()
	unpack := exec.Command("cpio", "-idmu", "--quiet")
	unpack.Dir, unpack.Stdin = dir, bytes.NewReader(b)
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("cpio: %v: %s", err, out)
	}
	for _, f := range files {
		st, err := os.Stat(filepath.Join(dir, f.Name))
		if err != nil || uint32(st.Mode().Perm()) != f.Mode&0o777 {
			t.Errorf("%s: %v, %v", f.Name, st, err)
			continue
		}
		got, _ := os.ReadFile(filepath.Join(dir, f.Name))
		require.That(t, f.Mode == distro.ModeFolder || bytes.Equal(got, f.Data), "%s has %q, want %q", f.Name, got, f.Data)
	}
}

// FuzzBoot gives kernels that are damaged in any way to the loader, with any command line and initial file system, and one
// CPU or two. One of the kernels starts the second CPU.
func FuzzBoot(f *testing.F) {
	for _, bits := range []int{64, 32} {
		f.Add(linuxtest.Boxed(linuxtest.Kernel{Bits: bits, Code: speaks}.ELF()), "a command", []byte("070701"))
	}
	starts, _ := startsOther()
	f.Add(linuxtest.Boxed(starts.ELF()), "two CPU", []byte("070701"))
	f.Fuzz(func(t *testing.T, b []byte, command string, initrd []byte) {
		k, err := kernel.Read("fuzz", b, nil)
		if err != nil {
			return
		}
		c := distro.Config{
			Kernel: k, CPU: cpustest.Config(x86.ISA64()), Board: pc.Legacy{}, RAM: 32 << 20, Command: command, Initrd: initrd,
			Budget: clock.FromCycles(100_000), CPUs: 1 + len(command)%2,
		}
		_, _ = distro.Run(c, distro.Stop{}) // whatever comes, but no panic
	})
}

// TestNotThere names what a kernel asked for in vain: a register that is not there, whose exception has no handler here.
func TestNotThere(t *testing.T) {
	code := []byte{0xb9, 0x45, 0x03, 0, 0, 0x0f, 0x32} // mov ecx, 0x345; rdmsr
	m, err := distro.Run(config(t, linuxtest.Kernel{Bits: 64, Code: code}), distro.Stop{})
	require.Need(t, err != nil && strings.Contains(err.Error(), "triple fault") && m != nil, "an exception without a handler: %v", err)
	got := m.CPU(0).(cpus.Refuser).Refusals()
	require.That(t, len(got) == 1 && got[0].Name == "rdmsr of 0x345" && got[0].Count == 1 && got[0].PC != 0, "asked for in vain: %+v", got)
}
