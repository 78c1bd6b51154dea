package races

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

const small = `
name = "small"
title = "Small"
cpus = 2
script = ["register p", "sleep 1", "unregister p"]
[[callers]]
cpu = 1
target = "bench_target"
[[probes]]
name = "p"
target = "bench_target"
[[variants]]
name = "v"
`

func TestParse(t *testing.T) {
	s := require.Must(Parse("small.toml", []byte(small)))(t)
	require.That(t, s.CPUs == 2 && len(s.Script) == 3 && s.Script[1].N == 1 && s.Callers[0].Count == 1 && s.Variants[0].Optimize, "read %+v", s)
}

func TestParseNamesEveryMistake(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{`cpus = 2`, `cpus = 0`, "small.toml:4:8: cpus: 0 is outside 1 to 16"},
		{`cpu = 1`, `cpu = 2`, "small.toml:7:7: callers.0.cpu: the machine has 2 CPUs"},
		{`cpus = 2`, "cpus = 2\nmemory = 33554432", `"33554432" is no size`},
		{`"sleep 1"`, `"sleep"`, `action 2, "sleep": 0 words behind the verb`},
		{`"sleep 1"`, `"slep 1"`, `did you mean "sleep"?`},
		{`"sleep 1"`, `"   "`, "must not be empty"},
		{`"sleep 1"`, `"sleep 1h"`, "sleep 1 to 1000 jiffies, not 1h"},
		{`"sleep 1"`, `"expect p jumping"`, `unknown mode "jumping"`},
		{`"unregister p"`, `"unregister q"`, `no probe "q": known are p`},
		{`name = "v"`, `name = "v"` + "\npatching = \"text\"", `unknown value "text": known are stop_machine, stop_machine-each, breakpoint`},
		{`name = "v"`, `name = "v"` + "\ncatches = [\"typo\"]", `unknown value "typo": known are no-quiesce`},
		{`name = "v"`, `name = "v"` + "\n[[variants]]\nname = \"v\"", `variant "v" is there twice`},
		{`[[probes]]`, `[[callers]]`, "probes: write at least one [[probes]]"},
		{`[[variants]]`, "[[probes]]\nname = \"p\"\ntarget = \"bench_target\"\n[[variants]]", `probe "p" is there twice`},
		{`title = "Small"`, `titel = "Small"`, `unknown key "titel"; did you mean "title"?`},
		{`name = "p"`, "name = \"p\"\nmaxactive = 3", "only a kretprobe has instances"},
		{`name = "p"`, "name = \"p\"\noffset = 4\ninstruction = 1", "leave one of the two out"},
		{`[[probes]]`, "[[watchpoints]]\nname = \"p\"\ntarget = \"x\"\nsymbol = \"x\"\ntype = \"write\"\n[[probes]]", `the name "p" is there twice`},
		{`[[probes]]`, "[[watchpoints]]\nname = \"w\"\ntarget = \"x\"\nsymbol = \"x\"\ntype = \"port\"\n[[probes]]", "machines have no ports"},
		{`"sleep 1"`, `"watch w"`, `no watchpoint "w"`},
		{`"sleep 1"`, `"drop"`, "drop is for scenarios with [[processes]]"},
		{`"sleep 1"`, `"discard"`, "discard is for scenarios with [[processes]]"},
		{`"sleep 1"`, `"spawn 1"`, "spawn is for scenarios with [[processes]]"},
		{`cpus = 2`, "cpus = 2\nbeside = [\"settle\", \"load\"]", "load is for the script: a task beside it can register"},
		{`cpus = 2`, "cpus = 2\nbeside = [\"enable p\"]", "has kernel probes that the script does not name"},
		{`"sleep 1"`, `"await p jumping"`, `unknown mode "jumping"`},
		{`"sleep 1"`, `"stop p"`, "1 words behind the verb"},
		{`name = "v"`, "name = \"v\"\nbatch = 0", "0 is outside 1 to 1000"},
		{`"sleep 1"`, `"rmmod"`, "rmmod is for scenarios with a probe that says module = true"},
		{`[[probes]]`, "[[watchpoints]]\nname = \"w\"\ntarget = \"x\"\nsymbol = \"x\"\ntype = \"write\"\nword = 1\ninstruction = 1\n[[probes]]", "leave one of the two out"},
		{`[[probes]]`, "[[watchpoints]]\nname = \"w\"\ntarget = \"x\"\nsymbol = \"x\"\ntype = \"execute\"\nword = 1\n[[probes]]", "an execute watchpoint stands on an instruction"},
		{`[[probes]]`, "[[watchpoints]]\nname = \"w\"\ntarget = \"x\"\nsymbol = \"x\"\ntype = \"write\"\ninstruction = 1\n[[probes]]", "only an execute watchpoint stands on an instruction"},
		{`name = "p"`, "name = \"p\"\nuser = true", `probe "p" is of user space: write [[processes]]`},
		{`name = "v"`, "name = \"v\"\nstrikes = [\"tock\"]", `unknown value "tock": known are tick, nmi; did you mean "tick"?`},
		{`name = "v"`, "name = \"v\"\nstrikes = [\"nmi\"]\nisa = \"arm\"\nera = \"2014\"", "only kernels of eras that end in -nmi serve NMIs"},
		{`name = "v"`, "name = \"v\"\nstrikes = [\"nmi\"]", "only kernels of eras that end in -nmi serve NMIs"},
		{`name = "v"`, "name = \"v\"\nstrikes = [\"nmi\"]\nera = \"2010-nmi\"\nuser = true", "leave user tasks out"},
		{`[[probes]]`, "[[processes]]\ncpu = 0\n[[probes]]\nname = \"u\"\ntarget = \"user_mix\"\nuser = true\nmodule = true\n[[probes]]", "a probe of user space has its handler in the kernel"},
		{`target = "bench_target"` + "\n[[probes", `args = [1, 2, 3]` + "\n[[probes", "3 arguments"},
	} {
		_, err := Parse("small.toml", []byte(strings.Replace(small, tt.old, tt.new, 1)))
		require.That(t, err != nil && strings.Contains(err.Error(), tt.want), "%s for %s: error\n%v\nwant %q", tt.new, tt.old, err, tt.want)
	}
}

// userSpace is a scenario of user space without a mistake.
const userSpace = `
name = "user-space"
title = "User space"
cpus = 2
script = ["register p", "spawn 1", "drop", "discard", "unregister p"]
[[processes]]
cpu = 0
[[probes]]
name = "p"
target = "user_mix"
user = true
[[variants]]
name = "v"
era = "2010-userprobes"
`

func TestParseNamesMistakesOfUserSpace(t *testing.T) {
	if _, err := Parse("user.toml", []byte(userSpace)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{`cpus = 2`, `cpus = 1`, "spawn needs cpus of at least 2"},
		{`"user_mix"`, `"user_main"`, "its target must be user_mix"},
		{`"drop"`, `"expect p disabled"`, "can only be registered and unregistered"},
		{`"drop"`, `"enable p"`, "can only be registered and unregistered"},
		{`era = "2010-userprobes"`, "era = \"2010-nmi\"\nstrikes = [\"nmi\"]", "no NMI may strike user mode"},
	} {
		_, err := Parse("user.toml", []byte(strings.Replace(userSpace, tt.old, tt.new, 1)))
		require.That(t, err != nil && strings.Contains(err.Error(), tt.want), "%s for %s: error\n%v\nwant %q", tt.new, tt.old, err, tt.want)
	}
}

// TestDamagedScenarios damages scenarios of each kind, and has each action with too few and too many words.
func TestDamagedScenarios(t *testing.T) {
	for name, sum := range map[string]string{"rmmod": "5276d4df2e31", "user-pages": "8fce41f8c479", "watch": "613851d2327d"} {
		s := require.Must(Load(name))(t)
		require.Outcomes(t, []byte(s.Text), 11, sum, func(b []byte) string { return outcome("damaged.toml", b) })
	}
	const words = "7bd08dee48f1"
	var all strings.Builder
	for _, v := range verbs() {
		for _, behind := range []string{"", " p", " p p", " p optimized", " p nothing", " 0", " 1", " 1000", " 1001", strings.Repeat(" p", 100)} {
			for _, text := range []string{small, userSpace} {
				all.WriteString(outcome("words.toml", []byte(strings.Replace(text, "unregister p", v.word+behind, 1))))
			}
		}
	}
	if got := fmt.Sprintf("%.6x", sha256.Sum256([]byte(all.String()))); got != words {
		t.Errorf("actions with other words have the sum %s, and had %s\n%s", got, words, all.String())
	}
}

// outcome reads a scenario, and returns what it says or why it is refused.
func outcome(file string, b []byte) string {
	s, err := Parse(file, b)
	if err != nil {
		return err.Error() + "\n"
	}
	s.Text = ""
	text, err := json.Marshal(s)
	return fmt.Sprintf("%s %v\n", text, err)
}

// TestLimits has a number in front of each range, and wants the ranges that there were.
func TestLimits(t *testing.T) {
	text := "name = \"limits\"\ntitle = \"Limits\"\nscript = [\"settle\"]\nmemory = \"1 B\"\n"
	for _, line := range []string{
		"cpus jiffy delay limit", "[[callers]] cpu count", "[[processes]] cpu count", "[[watchpoints]] word instruction",
		"[[probes]] offset instruction maxactive", "[[variants]] jiffy batch hasten",
	} {
		for _, word := range strings.Fields(line) {
			if !strings.HasPrefix(word, "[[") {
				word += " = -1"
			}
			text += word + "\n"
		}
	}
	_, err := Parse("limits.toml", []byte(text))
	var all strings.Builder
	for line := range strings.Lines(fmt.Sprintln(err)) {
		if strings.Contains(line, "outside") {
			all.WriteString(line)
		}
	}
	holdReport(t, "limits", all.String())
}

func TestLoad(t *testing.T) {
	require.Need(t, len(Names()) != 0, "the program has no scenarios")
	for _, n := range Names() {
		s, err := Load(n)
		if err != nil {
			t.Errorf("%s: %v", n, err)
			continue
		}
		require.That(t, s.Name == n, "races/scenarios/%s.toml calls itself %q", n, s.Name)
	}
	file := filepath.Join(t.TempDir(), "small.toml")
	require.NoError(t, os.WriteFile(file, []byte(small), 0o644))
	if s, err := Load(file); err != nil || s.Given != file {
		t.Errorf("by path: %v", err)
	}
	for name, want := range map[string]string{
		"optimise": `did you mean "optimize"?`, "./none.toml": "no such file", t.TempDir() + "/": "no regular file",
	} {
		require.Error(t, require.Err(Load(name)), want, "%s", name)
	}
}

// TestEveryMutantHasAScenario wants a variant that must notice each mistake.
func TestEveryMutantHasAScenario(t *testing.T) {
	var caught []string
	for _, n := range Names() {
		s := require.Must(Load(n))(t)
		for _, v := range s.Variants {
			caught = append(caught, v.Catches...)
		}
	}
	var listed []string
	for _, m := range Mistakes() {
		listed = append(listed, m.Name)
	}
	for _, m := range Mutants() {
		require.That(t, slices.Contains(listed, m), "%s has no class", m)
		require.That(t, slices.Contains(caught, m), "no scenario says that it catches %s", m)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, tt := range []struct {
		change func(o *Options)
		want   string
	}{
		{func(o *Options) { o.Policy = "randon" }, `did you mean "random"?`},
		{func(o *Options) { o.Mutant = "none" }, `mutant "none" is unknown`},
		{func(o *Options) { o.Schedules = 0 }, "0 schedules"},
		{func(o *Options) { o.Depth = 0 }, "depth 0"},
		{func(o *Options) { o.Preemptions = -1 }, "-1 preemptions"},
		{func(o *Options) { o.Workers = -1 }, "negative"},
	} {
		o := Default()
		tt.change(&o)
		require.Error(t, o.Check(), tt.want, "%+v", o)
	}
	for name, x := range map[string]struct {
		set       func(o *Options, n int64)
		low, high int64
	}{
		"schedules":   {func(o *Options, n int64) { o.Schedules = uint64(n) }, 1, 1e12},
		"depth":       {func(o *Options, n int64) { o.Depth = int(n) }, 1, 100},
		"preemptions": {func(o *Options, n int64) { o.Preemptions = int(n) }, 0, 2},
		"workers":     {func(o *Options, n int64) { o.Workers = int(n) }, 0, 1 << 30},
		"violations":  {func(o *Options, n int64) { o.Enough = int(n) }, 0, 1 << 30},
	} {
		for n, ok := range map[int64]bool{x.low - 1: false, x.low: true, x.high: true, x.high + 1: x.high == 1<<30} {
			o := Default()
			x.set(&o, n)
			require.That(t, (o.Check() == nil) == ok, "%d %s: %v", n, name, o.Check())
		}
	}
}

// FuzzParse looks for scenario files that break the reader, or that it accepts with numbers no machine
// can have.
func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	for _, n := range Names() {
		if b, err := own.ReadFile("scenarios/" + n + ".toml"); err == nil {
			f.Add(b)
		}
	}
	f.Add([]byte("script = [\"expect p\"]\n[[probes]]\n[[variants]]\n[[callers]]\ncpu=-1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Parse("fuzz.toml", b)
		if err != nil {
			return
		}
		require.That(t, s.CPUs >= 1 && s.CPUs <= maxCPUs && len(s.Probes) <= maxProbes && len(s.Script) != 0, "accepted %+v", s)
		for _, a := range s.Script {
			for _, i := range a.Probes {
				if i < 0 || i >= len(s.Probes)+len(s.Watches) {
					t.Errorf("action %+v names no probe", a)
				}
			}
			require.That(t, a.Verb != expectMode || (a.Mode == 0) == a.Queued, "action %+v expects nothing", a)
		}
	})
}
