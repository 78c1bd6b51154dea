package distro_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/image"
	kernel "kprobesim/image/linux"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// chosen is how many functions the order of first execution is compared of. Half of them run once, for the
// initialization.
const chosen = 1100

// lastFunction is executed when /init has said that it runs.
const lastFunction = "__do_sys_reboot"

// someFunctions chooses functions of a kernel, evenly by address, beside the last one. Names that are there twice are left out.
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
	end, _ := k.Image.Symbol(lastFunction)
	out, at := []image.Symbol{end}, map[uint64]bool{end.Addr: true}
	for _, first := range [...]bool{true, false} {
		all := of[first]
		for i := 0; i < len(all); i += len(all)/(chosen/2) + 1 {
			if count[all[i].Name] == 1 && !at[all[i].Addr] {
				at[all[i].Addr] = true
				out = append(out, all[i])
			}
		}
	}
	return out
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
	c.Untimed = true
	m := require.Must(distro.Start(c, distro.Stop{Text: "\ninit: running"}))(t)
	f := newFirsts(some)
	var spans [][2]uint64
	for _, s := range some {
		spans = append(spans, [2]uint64{s.Addr, s.Addr + 1})
	}
	m.CPU(0).ObserveCode(f, spans, false)
	err := m.Run()
	require.Need(t, err == nil && m.Ended() == distro.AtText, "ended by %q: %v\n%s", m.Ended(), err, m.Console())
	return f.order
}

// qemuOrder boots to /init under qemu, which logs each block of the functions when it translates it: before it executes it for
// the first time.
func qemuOrder(t *testing.T, c distro.Config, some []image.Symbol) []string {
	t.Helper()
	log, spans := filepath.Join(t.TempDir(), "log"), []string{}
	for _, s := range some {
		spans = append(spans, fmt.Sprintf("%#x+1", s.Addr))
	}
	q := underQemu(t, c)
	// Time goes by instructions here, too, so that each run is the same.
	q.Args = append(q.Args, "-icount", "shift=0,sleep=off", "-D", log, "-d", "in_asm", "-dfilter", strings.Join(spans, ","))
	console, f := printed(t, q, "System halted"), newFirsts(some)
	for _, m := range block.FindAllSubmatch(require.Must(os.ReadFile(log))(t), -1) {
		f.hit(require.Must(strconv.ParseUint(string(m[1]), 16, 64))(t))
	}
	end := slices.Index(f.order, lastFunction)
	require.Need(t, end >= 0, "%s is not executed; the console:\n%s", lastFunction, console)
	return f.order[:end]
}

// block is the beginning of a block in the log of qemu.
var block = regexp.MustCompile(`(?m)^IN:.*\n0x([0-9a-f]+):`)

// TestOrder compares the order in which functions are executed first with that under qemu, from the first function in C to
// /init.
func TestOrder(t *testing.T) {
	for _, file := range kernels(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			hosttools.Need(t, "qemu-system-x86_64", "qemu-system-x86", "the comparison of the order of functions with qemu's")
			c := packaged(t, file)
			c.Command += " nokaslr"
			some := someFunctions(c.Kernel)
			compareOrder(t, ownOrder(t, c, some), qemuOrder(t, c, some))
		})
	}
}

// differing says why functions are executed on one machine alone, or at another time.
var differing = []struct {
	name   *regexp.Regexp
	reason string
}{
	{regexp.MustCompile(`^load_ucode_`), "qemu says that it is a hypervisor, so no microcode is looked for"},
	{regexp.MustCompile(`^native_(write|read)_msr|^mtrr_|^print_fixed$`), "which registers of the processor are set depends on what it has"},
	{regexp.MustCompile(`^dmi_|^print_filtered$|^dump_stack_set_arch_desc$|_mpc|^romchecksum$`), "tables of the firmware are there, of which qemu has more"},
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
