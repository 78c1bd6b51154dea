package kprobes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprobesim/image"
	"kprobesim/internal/require"
	"kprobesim/smp"
)

// cat returns the text of a file.
func (l *live) cat(path string) string {
	l.t.Helper()
	text := value(l.smp.ReadFile(l.Call, path))(l)
	return text
}

func (l *live) echo(path, text string) {
	l.t.Helper()
	l.do(l.smp.WriteFile(l.Call, path, text))
}

// A kernel has the files of its era, and no others.
func TestFilesOfEras(t *testing.T) {
	for _, name := range images() {
		bootImage(t, name, Default(), func(l *live) {
			var want []string
			if l.k.era.Year >= 2010 {
				want = append(want, FileList, FileEnabled)
			}
			if l.k.era.Year >= 2014 {
				want = append(want, FileBlacklist)
			}
			if l.k.jump != nil {
				want = append(want, FileOptimization)
			}
			got := l.smp.Paths()
			require.That(t, slices.Equal(got, want), "%s has %q, want %q", name, got, want)
			require.Error(t, require.Err(l.smp.ReadFile(l.Call, "/proc/nothing")), "-ENOENT", "%s: a file that is not there", name)
		})
	}
}

// The list shows each probe with kind, place, module and state.
func TestFileListShowsStates(t *testing.T) {
	eachMode(t, modes(), func(l *live, m hitMode) {
		if !l.k.era.disabled {
			return
		}
		own := strings.Count(l.cat(FileList), "\n")
		lineOf := func(symbol string) string {
			for _, line := range strings.Split(l.cat(FileList), "\n") {
				if strings.Contains(line, symbol+"+0x0 ") {
					return line[strings.Index(line, "  ")+2:]
				}
			}
			return ""
		}
		add := func(s Spec) { l.add(s) }
		add(Spec{Symbol: "bench_target", Handler: "handler_count"})
		add(Spec{Kind: Kretprobe, Symbol: "work_read", Handler: "ret_count"})
		lines := 4
		if l.hasJprobes() {
			add(Spec{Kind: Jprobe, Symbol: "work_divide", Handler: "jprobe_empty"})
			lines++
		}
		add(Spec{Symbol: "work_atomic", Handler: "handler_count", Disabled: true})
		add(Spec{Symbol: "module_mix", Handler: "handler_count"})
		jumped := map[bool]string{true: "[OPTIMIZED]"}[m.mode == Optimized]
		traced := map[bool]string{true: "[FTRACE]"}[m.mode == Ftrace] // also of one that is not armed
		expect := func(symbol, want string) {
			t.Helper()
			if got := lineOf(symbol); got != want {
				t.Errorf("%s: %q, want %q", m.name(), got, want)
			}
		}
		expect("bench_target", "k  bench_target+0x0    "+jumped+traced)
		if l.hasJprobes() {
			expect("work_divide", "j  work_divide+0x0    ")
		}
		expect("work_atomic", "k  work_atomic+0x0    [DISABLED]"+traced)
		if got := lineOf("work_read"); !strings.HasPrefix(got, "r  work_read+0x0    ") {
			t.Errorf("%s: %q", m.name(), got)
		}
		if got := lineOf("module_mix"); !strings.HasPrefix(got, "k  module_mix+0x0  work_module ") {
			t.Errorf("%s: %q", m.name(), got)
		}
		l.do(l.k.Unload(l.Call, "work_module"))
		expect("module_mix", "k  module_mix+0x0  work_module [GONE]"+traced)
		if n := strings.Count(l.cat(FileList), "\n"); n != own+lines {
			t.Errorf("%s: %d lines, want %d", m.name(), n, own+lines)
		}
	})
}

// A write to enabled arms and disarms all probes. Those that are disabled stay so, and the kernel says it once.
func TestFileEnabledSwitchesAll(t *testing.T) {
	eachMode(t, modes(), func(l *live, m hitMode) {
		if !l.k.era.disabled {
			return
		}
		l.add(Spec{Symbol: "bench_target", Handler: "handler_count"})
		off := l.add(Spec{Symbol: "work_read", Handler: "handler_count", Disabled: true})
		hits := func() uint64 {
			before := l.percpu("handler_hits")
			l.call("bench_target", 1, 2)
			l.call("work_read", 1, 2)
			return l.percpu("handler_hits") - before
		}
		for _, tt := range []struct {
			text, reads string
			hits        uint64
		}{{"", "1\n", 1}, {"0\n", "0\n", 0}, {"0", "0\n", 0}, {"Y", "1\n", 1}, {"no", "0\n", 0}, {"1\n", "1\n", 1}} {
			l.echo(FileEnabled, tt.text)
			if got, n := l.cat(FileEnabled), hits(); got != tt.reads || n != tt.hits {
				t.Errorf("%s: after %q it reads %q, %d hits; want %q, %d", m.name(), tt.text, got, n, tt.reads, tt.hits)
			}
		}
		if st := l.state(off); st.Mode != Disabled {
			t.Errorf("%s: the disabled probe is %s", m.name(), st.Mode)
		}
		if got := strings.Count(l.m.Console(), "Kprobes globally disabled\n"); got != 2 {
			t.Errorf("%s: the console says it %d times, want 2: %s", m.name(), got, l.m.Console())
		}
		err := l.smp.WriteFile(l.Call, FileEnabled, "maybe")
		if errors.Is(err, EINVAL) != (l.k.era.Year >= 2014) {
			t.Errorf("%s: writing what means nothing: %v", m.name(), err)
		}
	})
}

// A write to kprobes-optimization takes all jumps away and brings them back.
func TestFileOptimizationSwitches(t *testing.T) {
	boot(t, Default(), func(l *live) {
		p := l.add(Spec{Symbol: "bench_target", Handler: "handler_count"})
		for _, tt := range []struct {
			text string
			jump bool
		}{{"0\n", false}, {"1\n", true}, {"0", false}} {
			l.echo(FileOptimization, tt.text)
			l.do(l.k.WaitOptimizer(l.Call))
			st, list := l.state(p), l.cat(FileList)
			require.That(t, (st.Mode == Optimized) == tt.jump && strings.Contains(list, "bench_target+0x0    [OPTIMIZED]") == tt.jump, "after %q: %s, list %q", tt.text, st.Mode, list)
			require.Equal(t, l.cat(FileOptimization), tt.text[:1]+"\n", "after %q it reads", tt.text)
		}
		for _, text := range []string{"2", "", "on"} {
			err := l.smp.WriteFile(l.Call, FileOptimization, text)
			require.That(t, errors.Is(err, EINVAL), "writing %q: %v", text, err)
		}
		require.That(t, strings.Contains(l.m.Console(), "Kprobes globally optimized\n"), "console: %s", l.m.Console())
	})
}

// Every function of the blacklist refuses a probe, and the functions of the documents are on it.
func TestFileBlacklist(t *testing.T) {
	for _, name := range images() {
		bootImage(t, name, plain(), func(l *live) {
			if !l.k.era.blacklist {
				return
			}
			text := l.cat(FileBlacklist)
			for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
				var from, to uint64
				var symbol string
				n, err := fmt.Sscanf(line, "0x%x-0x%x\t%s", &from, &to, &symbol)
				require.Need(t, n == 3 && err == nil && from < to, "%s: line %q", name, line)
				_, err = l.k.Add(l.Call, Spec{Symbol: symbol})
				require.That(t, errors.Is(err, EINVAL), "%s: a probe at %s: %v", name, symbol, err)
			}
			for _, symbol := range []string{"ask_listeners", "notify_die", "do_page_fault"} {
				_, ok := l.m.Image().Func(symbol)
				require.That(t, !ok || strings.Contains(text, "\t"+symbol+"\n"), "%s: %s is not on the list", name, symbol)
			}
			require.Error(t, l.smp.WriteFile(l.Call, FileBlacklist, "x"), "-EACCES", "%s: writing it", name)
		})
	}
}

// reader is the guest's struct file_reader.
type reader struct {
	at                         uint64
	text, rounds, lines, error image.Field
	over                       image.Field
}

func (w *crowd) reader(at uint64, path string) *reader {
	w.t.Helper()
	r := &reader{}
	size, err := w.m.Image().Layout("file_reader", image.Parts{
		"text": &r.text, "rounds": &r.rounds, "lines": &r.lines, "error": &r.error, "over": &r.over,
	})
	w.do(err)
	if at == 0 {
		at = value(w.m.Alloc(size, 64))(w)
	}
	w.do(w.m.WriteBytes(at, append([]byte(path), 0)))
	r.at = at
	return r
}

func (w *crowd) member(r *reader, f image.Field) uint64 {
	w.t.Helper()
	v := value(w.m.Load(r.at+uint64(f.Offset), int(f.Size)))(w)
	return v
}

// A kernel thread and a user task read the list by its path while probes come and go on another CPU. Each whole
// read shows the list of one moment, and the last one what is left.
func TestGuestReadsTheList(t *testing.T) {
	for _, isa := range isas() {
		bootMany(t, newest(isa), 3, Default(), func(w *crowd) {
			own := strings.Count(w.cat(FileList), "\n")
			kernel, user := w.reader(0, FileList), w.reader(w.addr("user_reader"), FileList)
			thread := value(w.smp.Spawn(w.Call, smp.Thread{Name: "reader", CPU: 1, Bound: true, Fn: "rare_reads_file", Arg: kernel.at}))(w)
			task := value(w.smp.SpawnUser(w.Call, smp.Thread{Name: "user", CPU: 2, Bound: true, Fn: "user_reads_file", Arg: user.at}))(w)
			for range 5 {
				p := w.add(Spec{Symbol: "bench_target", Handler: "handler_empty"})
				w.do(w.smp.Sleep(w.Call, 2))
				w.remove(p)
				w.do(w.smp.Sleep(w.Call, 2))
			}
			kept := w.add(Spec{Symbol: "work_read", Handler: "handler_empty"})
			w.do(w.smp.Sleep(w.Call, 3))
			for name, r := range map[string]*reader{"kernel thread": kernel, "user task": user} {
				w.do(w.m.Store(r.at+uint64(r.over.Offset), int(r.over.Size), 1))
				w.do(w.smp.Join(w.Call, map[string]uint64{"kernel thread": thread, "user task": task}[name]))
				rounds, lines := w.member(r, r.rounds), w.member(r, r.lines)
				least := uint64(own) * rounds
				require.That(t, rounds >= 5 && lines > least && lines < least+rounds, "%s, %s: %d rounds, %d lines: each has %d, and one more while a probe stands", isa, name, rounds, lines, own)
				last := value(w.m.ReadString(r.at + uint64(r.text.Offset)))(w)
				if want := w.cat(FileList); last != want || w.member(r, r.error) != 0 {
					t.Errorf("%s, %s: the last read is %q, want %q; error %d", isa, name, last, want, int64(w.member(r, r.error)))
				}
			}
			w.remove(kept)
		})
	}
}

// A user task writes a switch, and gets the numbers of errors for what it may not do.
func TestUserCallsFiles(t *testing.T) {
	for _, isa := range isas() {
		bootMany(t, newest(isa), 2, Default(), func(w *crowd) {
			call, text := w.addr("user_file_call"), w.addr("user_file_text")
			do := func(op string, fd, buf uint64, content string, n uint64) int32 {
				t.Helper()
				var f fileFields
				_, err := w.m.Image().Layout("file_call", image.Parts{"op": &f.op, "fd": &f.fd, "buf": &f.buf, "count": &f.count})
				w.do(err)
				number := value(w.m.Image().Enum(op))(w)
				w.do(w.m.WriteBytes(text, append([]byte(content), 0)))
				w.store(call, f.op, uint64(number))
				w.store(call, f.fd, fd)
				w.store(call, f.buf, buf)
				w.store(call, f.count, n)
				task := value(w.smp.SpawnUser(w.Call, smp.Thread{Name: "user", CPU: 1, Bound: true, Fn: "user_calls_file", Arg: call}))(w)
				return w.exitCode(task)
			}
			expect := func(what string, got, want int32) {
				t.Helper()
				require.Equal(t, got, want, "%s: %s", isa, what)
			}
			kernelText := w.addr("bench_target")
			expect("no file", do("FILE_OPEN", 0, text, "/sys/nothing", 0), -2)
			expect("a path in kernel memory", do("FILE_OPEN", 0, kernelText, "", 0), -14)
			expect("open", do("FILE_OPEN", 0, text, FileEnabled, 0), 0)
			expect("open again", do("FILE_OPEN", 0, text, FileList, 0), 1)
			expect("write into the list", do("FILE_WRITE", 1, text, "1", 1), -13)
			expect("write from kernel memory", do("FILE_WRITE", 0, kernelText, "", 1), -14)
			expect("too much", do("FILE_WRITE", 0, text, "", 1<<30), -22)
			expect("write", do("FILE_WRITE", 0, text, "0\n", 2), 2)
			expect("close", do("FILE_CLOSE", 0, 0, "", 0), 0)
			expect("closed", do("FILE_READ", 0, text, "", 1), -9)
			expect("open takes the free number", do("FILE_OPEN", 0, text, FileEnabled, 0), 0)
			expect("read", do("FILE_READ", 0, text, "", 9), 2)
			expect("end of file", do("FILE_READ", 0, text, "", 9), 0)
			require.Equal(t, w.cat(FileEnabled), "0\n", "%s: after the user's write it reads", isa)
		})
	}
}

type fileFields struct{ op, fd, buf, count image.Field }
