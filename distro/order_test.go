package distro_test

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/image"
	kernel "kprobesim/image/linux"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// chosen is how many functions the order of first execution is compared of. Half of them run once, for the
// initialization.
const chosen = 1100

// someFunctions chooses functions of a kernel, evenly by address. Names that are there twice are left out.
func someFunctions(k *kernel.Kernel) []image.Symbol {
	count := map[string]int{}
	of := map[bool][]image.Symbol{}
	for _, s := range k.Image.Symbols {
		section := k.Image.SectionAt(s.Addr)
		if s.Func && (section == ".text" || section == ".init.text") && !strings.Contains(s.Name, ".") {
			count[s.Name]++
			of[section == ".init.text"] = append(of[section == ".init.text"], s)
		}
	}
	var out []image.Symbol
	at := map[uint64]bool{}
	for _, first := range [...]bool{true, false} {
		all := of[first]
		for i := 0; i < len(all); i += len(all)/(chosen/2) + 1 {
			if !strings.HasSuffix(all[i].Name, "_start_kernel") && count[all[i].Name] == 1 && !at[all[i].Addr] {
				at[all[i].Addr] = true
				out = append(out, all[i])
			}
		}
	}
	return out
}

// beginning is the first function in C that the kernel executes, which was not chosen.
func beginning(t *testing.T, k *kernel.Kernel) image.Symbol {
	t.Helper()
	name := "x86_64_start_kernel"
	if k.Image.Bits == 32 {
		name = "i386_start_kernel"
	}
	s, ok := k.Image.Symbol(name)
	require.Need(t, ok, "the kernel has no function %s", name)
	return s
}

// firsts notes the order in which addresses are executed first.
type firsts struct {
	names map[uint64]string
	order []string
}

// Step implements cpus.Observer.
func (f *firsts) Step(s *cpus.Step) { f.hit(s.PC) }

func (f *firsts) hit(pc uint64) {
	if name, ok := f.names[pc]; ok {
		f.order = append(f.order, name)
		delete(f.names, pc)
	}
}

// newFirsts is for the functions of a kernel.
func newFirsts(some []image.Symbol) *firsts {
	f := &firsts{names: map[uint64]string{}}
	for _, s := range some {
		f.names[s.Addr] = s.Name
	}
	return f
}

// ownOrder boots to /init here.
func ownOrder(t *testing.T, c distro.Config, some []image.Symbol) []string {
	t.Helper()
	var console strings.Builder
	c.Print = func(m *sim.Machine, s string) {
		if console.WriteString(s); strings.Contains(console.String(), "\ninit: running") {
			m.End(distro.AtText)
		}
	}
	m := require.Must(distro.New(c))(t)
	f := newFirsts(some)
	var spans [][2]uint64
	for _, s := range some {
		spans = append(spans, [2]uint64{s.Addr, s.Addr + 1})
	}
	m.CPU(0).Untimed(clock.PerCycle, math.MaxInt64)
	m.CPU(0).ObserveCode(f, spans, false)
	if err := m.Run(); err != nil || m.Ended() != distro.AtText {
		t.Fatalf("ended by %q: %v\n%s", m.Ended(), err, console.String())
	}
	return f.order
}

// stub speaks the remote protocol of gdb (GDB manual, appendix E).
type stub struct {
	c       net.Conn
	answers chan string // closed when the other side is gone
}

// listen reads answers. Acknowledgements are passed over.
func (s *stub) listen() {
	defer close(s.answers)
	r := bufio.NewReader(s.c)
	for {
		if _, err := r.ReadString('$'); err != nil {
			return
		}
		answer, err := r.ReadString('#')
		if err != nil {
			return
		}
		if _, err := r.Discard(2); err != nil { // the sum
			return
		}
		if _, err := s.c.Write([]byte("+")); err != nil {
			return
		}
		s.answers <- strings.TrimSuffix(answer, "#")
	}
}

// ask sends a packet and returns the answer, or "" once over holds.
func (s *stub) ask(text string, over func() bool) (string, error) {
	sum := byte(0)
	for i := range len(text) {
		sum += text[i]
	}
	if _, err := fmt.Fprintf(s.c, "$%s#%02x", text, sum); err != nil {
		return "", err
	}
	for range 9000 { // a quarter of an hour
		select {
		case answer, ok := <-s.answers:
			if !ok {
				return "", errors.New("qemu has gone")
			}
			return answer, nil
		case <-time.After(100 * time.Millisecond):
			if over() {
				return "", nil
			}
		}
	}
	return "", fmt.Errorf("no answer to %q", text)
}

// pc reads the program counter: of all registers of x86-64, in the order of bytes of the machine, the one behind the 16
// general ones.
func (s *stub) pc() (uint64, error) {
	const at, digits = 16 * 16, 16
	text, err := s.ask("g", never)
	if err != nil {
		return 0, err
	}
	if len(text) < at+digits {
		return 0, fmt.Errorf("the registers are %q", text)
	}
	b, err := hex.DecodeString(text[at : at+digits])
	if err != nil {
		return 0, fmt.Errorf("the program counter: %w", err)
	}
	return binary.LittleEndian.Uint64(b), nil
}

func never() bool { return false }

// qemuOrder boots to /init under qemu, with breakpoints at the functions that are to come.
func qemuOrder(t *testing.T, file string, c distro.Config, begin image.Symbol, some []image.Symbol) []string {
	t.Helper()
	dir := t.TempDir()
	initrd, socket := filepath.Join(dir, "initrd"), filepath.Join(dir, "gdb")
	require.NoError(t, os.WriteFile(initrd, c.Initrd, 0o644))
	if c.Kernel.Image.Bits == 64 {
		// Its ELF file can be entered without firmware and without unpacking it there, by the note of PVH.
		file = filepath.Join(dir, "vmlinux")
		require.NoError(t, os.WriteFile(file, c.Kernel.File, 0o644))
	}
	// Time goes by instructions here, too, so that each run is the same.
	q := exec.Command("qemu-system-x86_64", "-kernel", file, "-initrd", initrd, "-append", c.Command, "-display", "none",
		"-serial", "stdio", "-no-reboot", "-m", "512", "-cpu", "core2duo,-ssse3", "-icount", "shift=0,sleep=off",
		"-S", "-gdb", "unix:"+socket+",server=on,wait=off")
	var out output
	q.Stdout = &out
	require.NoError(t, q.Start())
	defer func() {
		_ = q.Process.Kill()
		_ = q.Wait()
	}()
	var s stub
	for range 300 {
		if conn, err := net.Dial("unix", socket); err == nil {
			s = stub{conn, make(chan string)}
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	require.Need(t, s.c != nil, "qemu does not listen for a debugger")
	defer s.c.Close()
	go s.listen()
	f, err := s.firsts(begin, some, &out)
	if err != nil {
		t.Fatalf("%v; the console:\n%s", err, out.text())
	}
	return f.order
}

// firsts goes from breakpoint to breakpoint until the first program runs.
func (s *stub) firsts(begin image.Symbol, some []image.Symbol, out *output) (*firsts, error) {
	f, over := newFirsts(some), func() bool { return out.has("init: running") }
	// Breakpoints make qemu slow, so they are set when the kernel has unpacked itself.
	for _, text := range []string{fmt.Sprintf("Z0,%x,1", begin.Addr), "c", fmt.Sprintf("z0,%x,1", begin.Addr)} {
		if _, err := s.ask(text, never); err != nil {
			return f, err
		}
	}
	f.order = append(f.order, begin.Name)
	next := 0
	for len(f.names) > 0 {
		for ; next < len(some) && len(some)-next+window > len(f.names); next++ {
			if _, err := s.ask(fmt.Sprintf("Z0,%x,1", some[next].Addr), never); err != nil {
				return f, err
			}
		}
		if said, err := s.ask("c", over); err != nil || said == "" || over() {
			return f, err
		}
		pc, err := s.pc()
		if err != nil {
			return f, err
		}
		if _, ok := f.names[pc]; !ok {
			return f, fmt.Errorf("it stopped at %#x, where no breakpoint is", pc)
		}
		f.hit(pc)
		if _, err := s.ask(fmt.Sprintf("z0,%x,1", pc), never); err != nil {
			return f, err
		}
	}
	return f, nil
}

// window is how many breakpoints stand at a time: at the functions that are expected next. Each makes qemu slow. A
// function that is executed further ahead than that is missed, and missing is a difference too.
const window = 40

// TestOrder compares the order in which functions are executed first with that under qemu, from the first function in C to
// /init.
func TestOrder(t *testing.T) {
	for _, file := range kernels(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			hosttools.Need(t, "qemu-system-x86_64", "qemu-system-x86", "the comparison of the order of functions with qemu's")
			c := packaged(t, file)
			c.Command += " nokaslr"
			some := someFunctions(c.Kernel)
			begin := beginning(t, c.Kernel)
			got := ownOrder(t, c, append(some, begin))
			got = got[slices.Index(got, begin.Name):]
			compareOrder(t, got, qemuOrder(t, file, c, begin, inOrder(some, got)))
		})
	}
}

// inOrder are the functions of a list of names, but for the first.
func inOrder(some []image.Symbol, names []string) (out []image.Symbol) {
	by := map[string]image.Symbol{}
	for _, s := range some {
		by[s.Name] = s
	}
	for _, n := range names[1:] {
		out = append(out, by[n])
	}
	return out
}

// differing says why functions are executed on one machine alone, or at another time.
var differing = []struct {
	name   *regexp.Regexp
	reason string
}{
	{regexp.MustCompile(`^load_ucode_`), "qemu says that it is a hypervisor, so no microcode is looked for"},
	{regexp.MustCompile(`^native_(write|read)_msr|^mtrr_`), "which registers of the processor are set depends on what it has"},
	{regexp.MustCompile(`^rcu_|_rcu$|^fill_page_cache_func$|^acct_`), "the timer's interrupt comes at another moment, and with it the work that it brings"},
	{regexp.MustCompile(`^deferred_init_|_thread$`), "a thread of its own begins when the scheduler has it"},
	{
		regexp.MustCompile(`^(init_(mkdir|mknod|chmod|chown|link|symlink|unlink|utime|stat)|do_(skip|start|collect|header|name|copy|symlink|reset)|unpack_)`),
		"the initial file system is unpacked by a worker",
	},
	{
		regexp.MustCompile(`^(path_openat|do_truncate|mpol_shared_|xattr_|__generic_file_|copy_page_from_|get_mem_cgroup_|unlock_page|rwsem_|ir_dev_scope_init)`),
		"that worker makes files, before or behind what the first thread does meanwhile",
	},
	{regexp.MustCompile(`eval_map|^trac(e|er|ing|efs)_|^event_|^create_event|^init_tracer|^ftrace_|^__create_dir$`), "files of tracing are made by a worker"},
}

// compareOrder wants the functions that only one of them has, and those that are out of order, to be explained.
func compareOrder(t *testing.T, got, want []string) {
	t.Helper()
	common := longest(got, want)
	require.That(t, len(common) >= 200, "%d functions are executed in the same order: too few to say anything", len(common))
	in := map[string]bool{}
	for _, n := range common {
		in[n] = true
	}
	used := map[string]int{}
	for side, names := range map[string][]string{"here": got, "under qemu": want} {
		for i, n := range names {
			if in[n] {
				continue
			}
			reason := ""
			for _, d := range differing {
				if d.name.MatchString(n) {
					reason = d.reason
					break
				}
			}
			if used[reason]++; reason == "" {
				t.Logf("%s is number %d %s, which nothing explains", n, i, side)
			}
		}
	}
	// Another build of the kernel has other functions, and its threads take turns at other places.
	require.That(t, used[""] <= len(common)/50, "%d differences are not explained, with %d functions in the same order", used[""], len(common))
	t.Logf("%d functions in the same order, others %v; here %d, under qemu %d", len(common), used, len(got), len(want))
}

// longest is the longest common subsequence of two lists.
func longest(a, b []string) []string {
	n := make([][]int, len(a)+1)
	for i := range n {
		n[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				n[i][j] = n[i+1][j+1] + 1
			} else {
				n[i][j] = max(n[i+1][j], n[i][j+1])
			}
		}
	}
	var out []string
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			out = append(out, a[i])
			i, j = i+1, j+1
		case n[i+1][j] >= n[i][j+1]:
			i++
		default:
			j++
		}
	}
	return out
}
