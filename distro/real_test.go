package distro_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kprobesim/boards/pc"
	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/cpus/x86"
	"kprobesim/distro"
	"kprobesim/image"
	kernel "kprobesim/image/linux"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/kept"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// kernels returns the kernels of a distribution, or leaves the test out.
func kernels(t *testing.T) []string {
	t.Helper()
	return hosttools.Kernels(t, "vmlinuz*", "booting the kernel of a distribution")
}

// read has the kernels that a test has read: to unpack one takes a second.
var read = map[string]*kernel.Kernel{}

// readOnce reads a kernel, once for all tests.
func readOnce(t testing.TB, file string) *kernel.Kernel {
	t.Helper()
	if read[file] == nil {
		read[file] = require.Must(kernel.Read(file, require.Must(os.ReadFile(file))(t), kept.Kernels()))(t)
	}
	return read[file]
}

// packaged is a kernel with the small /init.
func packaged(t testing.TB, file string) distro.Config {
	t.Helper()
	k := readOnce(t, file)
	first := require.Must(distro.First(k))(t)
	isa := x86.ISA64()
	if k.Image.Bits == 32 {
		isa = x86.ISA32()
	}
	return distro.Config{
		Kernel: k, CPU: cpustest.Config(isa), Board: pc.Legacy{Date: 1_700_000_000},
		Command: distro.DefaultCommand, Initrd: distro.Initrd([]distro.File{first}),
	}
}

// TestBoot boots the kernels of a distribution to /init, which switches the machine off, with the cost model and again, as far as
// rest_init. They print the lines of qemu.
func TestBoot(t *testing.T) {
	for _, file := range kernels(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c := packaged(t, file)
			c.Untimed = c.Kernel.Image.Bits == 64 && !hosttools.Whole(t, "the boot of 64 bits on one CPU with the cost model", "that of 32 bits, and a part of it on two CPUs")
			m, err := distro.Run(c, distro.Stop{Symbol: "rest_init"})
			require.Need(t, err == nil && m.Ended() == distro.AtSymbol, "%v, ended by %q; the console:\n%s", err, m.Ended(), m.Console())
			if !c.Untimed {
				want, again := look(m), require.Must(distro.Run(c, distro.Stop{Symbol: "rest_init"}))(t)
				require.Equal(t, look(again), want, "another boot")
				require.That(t, slices.Equal(m.CPU(0).Registers(), again.CPU(0).Registers()), "two boots end with other registers")
			}
			m.Resume()
			require.NoError(t, m.Run())
			console := m.Console()
			require.That(t, strings.Contains(console, "\ninit: running\r\n") && m.Ended() == distro.Halted, "ended by %q:\n%s", m.Ended(), console)
			for _, bad := range []string{"Oops", "BUG:", "WARNING:", "unchecked MSR"} {
				require.That(t, !strings.Contains(console, bad), "the kernel complains (%s):\n%s", bad, console)
			}
			compareQemu(t, c, lines(console))
		})
	}
}

// TestKeptOut boots the kernels of a distribution on a processor with XSAVE, SMEP, SMAP and PCIDs, which they switch on, the last in long
// mode alone. Of the forms of xsave they take xsavec.
func TestKeptOut(t *testing.T) {
	for _, file := range kernels(t) {
		c := packaged(t, file)
		c.CPU.Answers = cpus.Answers{"cpuid": {
			0:           {0xd, 0x756e6547, 0x6c65746e, 0x49656e69},
			1:           {0x606a6, 0x10800, 0x4822201, 0x789ab7d},
			7:           {0, 0x100480, 0, 0},
			0x10000000d: {7, 0x240, 0, 0},
		}}
		c.Untimed = true
		m := require.Must(distro.Run(c, distro.Stop{}))(t)
		require.That(t, strings.Contains(m.Console(), "\ninit: running\r\n") && m.Ended() == distro.Halted, "%s: ended by %q:\n%s", file, m.Ended(), m.Console())
		const taken = "Enabled xstate features 0x3, context size is 576 bytes, using 'compacted' format."
		require.That(t, strings.Contains(m.Console(), taken), "%s: no %q:\n%s", file, taken, m.Console())
		for _, bad := range []string{"Oops", "BUG:", "WARNING:"} {
			require.That(t, !strings.Contains(m.Console(), bad), "%s: the kernel complains (%s):\n%s", file, bad, m.Console())
		}
		const all = 1<<17 | 1<<18 | 1<<20 | 1<<21
		want := uint64(1<<18 | 1<<20 | 1<<21)
		if c.Kernel.Image.Bits == 64 {
			want |= 1 << 17
		}
		for _, r := range m.CPU(0).Registers() {
			if r.Name == "cr4" {
				require.Equal(t, r.Value&all, want, "%s: bits of CR4", file)
			}
		}
	}
}

// TestBootSeveral boots the kernels of a distribution with two CPUs to /init, with the cost model until both run, and from a
// snapshot on. What goes on from there, in the middle of a turn, is the same as what was never written. The lines are those
// under qemu with two CPUs, among them how many there are.
func TestBootSeveral(t *testing.T) {
	for _, file := range kernels(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c := packaged(t, file)
			c.CPUs, c.Command = 2, distro.Command(2)
			whole, err := distro.Run(c, distro.Stop{Text: bothRun, Symbol: "run_init_process"})
			require.Need(t, err == nil, "%v; the console:\n%s", err, whole.Console())
			goOn(t, whole, clock.PerCycle, math.MaxInt64)
			require.Need(t, whole.Ended() == distro.AtSymbol, "ended by %q", whole.Ended())
			written := c
			written.From = require.Must(distro.Snapshot(c, whole))(t)
			goOn(t, whole, 0, 0)
			rest := require.Must(distro.Run(written, distro.Stop{}))(t)
			want, got := lookAll(whole), lookAll(rest)
			require.That(t, reflect.DeepEqual(got, want), "behind the snapshot %v, without %v; the console:\n%s", got.now, want.now, got.console)
			checkSeveral(t, whole)
			compareQemu(t, c, lines(want.console))
		})
	}
}

// bothRun is said when two CPUs run.
const bothRun = "smp: Brought up 1 node, 2 CPUs"

// goOn has a machine go on with instructions that take so long until a time, and with the cost model behind it.
func goOn(t *testing.T, m *sim.Machine, each, until clock.Ticks) {
	t.Helper()
	for i := range m.CPUs() {
		m.CPU(i).Untimed(each, until)
	}
	m.Resume()
	require.NoError(t, m.Run())
}

// checkSeveral looks for what kernels say of two CPUs, and of what is wrong with them.
func checkSeveral(t *testing.T, m *sim.Machine) {
	t.Helper()
	for _, line := range []string{"\ninit: running\r\n", bothRun} {
		require.That(t, strings.Contains(m.Console(), line) && m.Ended() == distro.Halted, "ended by %q without %q:\n%s", m.Ended(), line, m.Console())
	}
	for _, bad := range []string{"Oops", "BUG", "WARNING:", "unchecked MSR", "warp", "Marking TSC unstable"} {
		require.That(t, !strings.Contains(m.Console(), bad), "the kernel complains (%s):\n%s", bad, m.Console())
	}
}

// unseen is told of every instruction and says nothing. What it is told of is executed one by one.
type unseen struct{}

func (unseen) Step(*cpus.Step) {}

// TestUntimedBootsAlike boots without the cost model as far as the first line of a program, at once and instruction by
// instruction: console, time, registers, counters and memory are the same.
func TestUntimedBootsAlike(t *testing.T) {
	for _, file := range kernels(t) {
		var first *sim.Machine
		for _, observe := range []bool{false, true} {
			c := packaged(t, file)
			c.Print = func(m *sim.Machine, _ string) {
				if strings.Contains(m.Console(), "Mount-cache") {
					m.End(distro.AtText)
				}
			}
			m := require.Must(distro.New(c))(t)
			m.CPU(0).Untimed(clock.PerCycle, math.MaxInt64)
			if observe {
				m.CPU(0).Observe(unseen{})
			}
			require.NoError(t, m.Run())
			if first == nil {
				first = m
				continue
			}
			a, b := first.CPU(0), m.CPU(0)
			if !slices.Equal(a.Registers(), b.Registers()) || !reflect.DeepEqual(a.Counters(), b.Counters()) || a.Now() != b.Now() {
				t.Errorf("%s: at %+v after %d instructions, one by one at %+v after %d", file, a.Registers(), a.Counters().Instructions,
					b.Registers(), b.Counters().Instructions)
			}
			x, y := a.(*x86.CPU), b.(*x86.CPU)
			require.That(t, reflect.DeepEqual(x.ITLB, y.ITLB) && reflect.DeepEqual(x.DTLB, y.DTLB), "%s: what the TLBs hold differs", file)
			require.That(t, first.Console() == m.Console() && bytes.Equal(x.Memory.Raw(), y.Memory.Raw()), "%s: memory or console differ:\n%s\n%s", file, first.Console(), m.Console())
		}
	}
}

// of lists what a line may tell of the hardware around the processor, which is not qemu's: firmware, memory map,
// interrupt controllers, clocks, keyboard and screen, and which processor it is. One line comes from a thread of its
// own, whenever that runs.
var of = regexp.MustCompile(`BIOS|e820|DMI|SMBIOS|tsc|TSC|last_pfn|PAT|MP-table|MPTABLE|MultiProcessor|RAMDISK|APIC|Processor|node|NODE_DATA|` +
	`DMA|unpack rootfs|low ram:|^Normal|Virtual Wire|^Disabled$|available|total_pages|Total pages|Memory:|KASLR|NR_IRQS|Console:|BogoMIPS|smpboot|Performance Events|audit|clock|initrd|` +
	`i8042|serio|input:|rtc_cmos|mce:|microcode|Unstable|trace_clock|kernel command line$|keep using|sched_clock|ITS|thunk|Calibrating|MDS|iTLB|` +
	`Spectre|MMIO|Speculative|Mitigation|x86/fpu|printk:|random:|[0-9]ms$|hash table entries|TLB entries|CPU0:|mitigations|mtrr:|calibrate_delay|lpj=|hrtimer:`)

// lines are the lines of a console without their times, and without those that differ on other hardware.
func lines(console string) []string { return slices.DeleteFunc(plain(console), of.MatchString) }

// plain are the lines of a console without their times, and without empty ones.
func plain(console string) []string {
	stamp := regexp.MustCompile(`^\[ *[0-9]+\.[0-9]+\] `)
	var out []string
	for l := range strings.Lines(console) {
		if l = strings.TrimSpace(stamp.ReplaceAllString(l, "")); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// compareQemu boots the same under qemu and wants every line in the same order, but for lines of the firmware before
// the kernel begins. What a kernel of several processors measures under qemu, and says of it, depends on what else its host
// does, so it may have to be asked again.
func compareQemu(t *testing.T, c distro.Config, got []string) {
	t.Helper()
	hosttools.Need(t, "qemu-system-x86_64", "qemu-system-x86", "the comparison of a boot with qemu's")
	tries := 1
	if c.CPUs > 1 {
		tries = 3
	}
	for {
		want := lines(printed(t, underQemu(t, c), "System halted"))
		want = want[max(0, slices.IndexFunc(want, func(l string) bool { return strings.Contains(l, "Linux version") })):]
		different := firstDifference(got, want)
		if different == "" {
			t.Logf("%d lines agree", len(got))
			return
		}
		if tries--; tries == 0 {
			t.Fatal(different)
		}
		t.Logf("once more, since %s", different)
	}
}

// underQemu is qemu for a kernel of x86, with what it gets here.
func underQemu(t *testing.T, c distro.Config) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, b, 0o644))
		return file
	}
	file := c.Kernel.Image.Name
	if c.Kernel.Image.Bits == 64 {
		// Its ELF file can be entered without firmware and without unpacking it there, by the note of PVH.
		file = write("vmlinux", c.Kernel.File)
	}
	return exec.Command("qemu-system-x86_64", "-kernel", file, "-initrd", write("initrd", c.Initrd), "-append", c.Command,
		"-smp", fmt.Sprintf("%d,sockets=%[1]d", max(c.CPUs, 1)), "-display", "none", "-serial", "stdio", "-no-reboot", "-m", "512", "-cpu", "core2duo,-ssse3")
}

// printed starts a machine and returns what it has printed when its end comes, or after two minutes.
func printed(t *testing.T, c *exec.Cmd, end string) string {
	t.Helper()
	var out output
	c.Stdout = &out
	require.NoError(t, c.Start())
	for range 1200 {
		if time.Sleep(100 * time.Millisecond); out.has(end) {
			break
		}
	}
	_ = c.Process.Kill() // a machine that is switched off without ACPI goes on waiting
	_ = c.Wait()
	return out.text()
}

// firstDifference describes the first line that is not the same, or returns nothing.
func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		g, w := at(got, i), at(want, i)
		if j := strings.Index(w, "Linux version"); j > 0 {
			w = w[j:]
		}
		if g != w {
			return fmt.Sprintf("line %d is %q, under qemu %q", i, g, w)
		}
	}
	return ""
}

func at(l []string, i int) string {
	if i < len(l) {
		return l[i]
	}
	return ""
}

// TestInitIsFresh builds the programs again.
func TestInitIsFresh(t *testing.T) {
	hosttools.Compiler(t, "x86_64-linux-gnu-gcc", "amd64", "gcc-x86-64-linux-gnu", "building init")
	for bits, isa := range map[int]string{64: "x86_64", 32: "i386"} {
		made := &kernel.Kernel{Image: &image.Image{Bits: bits}}
		checkProgram(t, isa, "init", "", func() (distro.File, error) { return distro.First(made) })
		checkProgram(t, isa, "ask", "ask-", func() (distro.File, error) { return distro.Ask(made) })
		checkProgram(t, isa, "measure", "measure-", func() (distro.File, error) { return distro.Measure(made) })
		checkProgram(t, isa, "attach", "attach-", func() (distro.File, error) { return distro.Attach(made) })
		checkProgram(t, isa, "work", "work-", func() (distro.File, error) { return distro.Work(made) })
		checkProgram(t, isa, "mark", "mark-", func() (distro.File, error) { return distro.Mark(made) })
		checkProgram(t, isa, "background", "background-", func() (distro.File, error) { return distro.Background(made) })
		checkProgram(t, isa, "insert", "insert-", func() (distro.File, error) {
			files, err := distro.Inserting(bits, "", nil, "")
			return files[0], err
		})
	}
}

// TestInitOfARMIsFresh builds the programs of ARM again.
func TestInitOfARMIsFresh(t *testing.T) {
	hosttools.Compiler(t, "arm-linux-gnueabi-gcc", "arm", "gcc-arm-linux-gnueabi", "building init for ARM")
	made := &kernel.Kernel{Image: &image.Image{Machine: elf.EM_ARM}}
	checkProgram(t, "arm", "init", "", func() (distro.File, error) { return distro.First(made) })
	checkProgram(t, "arm", "ask", "ask-", func() (distro.File, error) { return distro.Ask(made) })
	checkProgram(t, "arm", "measure", "measure-", func() (distro.File, error) { return distro.Measure(made) })
	checkProgram(t, "arm", "attach", "attach-", func() (distro.File, error) { return distro.Attach(made) })
	checkProgram(t, "arm", "work", "work-", func() (distro.File, error) { return distro.Work(made) })
	checkProgram(t, "arm", "mark", "mark-", func() (distro.File, error) { return distro.Mark(made) })
	checkProgram(t, "arm", "background", "background-", func() (distro.File, error) { return distro.Background(made) })
}

// checkProgram builds a program and compares it with the committed one.
func checkProgram(t *testing.T, isa, name, prefix string, committed func() (distro.File, error)) {
	t.Helper()
	to := filepath.Join(t.TempDir(), isa)
	if out, err := exec.Command("sh", "init/build.sh", isa, to, name).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", isa, err, out)
	}
	got := require.Must(os.ReadFile(to))(t)
	have := require.Must(committed())(t)
	if !bytes.Equal(got, have.Data) {
		t.Errorf("init/%[1]s%[2]s.elf is not what its source builds to: sh distro/init/build.sh %[2]s distro/init/%[1]s%[2]s.elf %[3]s",
			prefix, isa, name)
	}
}
