package sim

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/image/imagetest"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// profiled returns a profile of a number of runs of steps.
func profiled(t testing.TB, im *image.Image, runs int) *Profile {
	t.Helper()
	p := NewProfile(im)
	for range runs {
		for _, s := range steps() {
			p.Step(s)
		}
	}
	return p
}

func written(t *testing.T, p *Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))
	return b.Bytes()
}

func TestProfile(t *testing.T) {
	p := profiled(t, loadGood(t), 3)
	b := written(t, p)
	require.That(t, bytes.Equal(b, written(t, profiled(t, loadGood(t), 3))), "equal profiles give different bytes")
	got := require.Must(profile.ParseData(b))(t)
	require.That(t, got.TimeNanos == 0 && got.DurationNanos == 0, "the profile carries host time")
	var cycles, count int64
	byFunc := map[string]int64{}
	for _, s := range got.Sample {
		count += s.Value[0]
		cycles += s.Value[1]
		byFunc[s.Location[0].Line[0].Function.Name+"/"+s.Label["phase"][0]] += s.Value[0]
	}
	var ticks clock.Ticks
	for _, s := range steps() {
		ticks += s.End - s.Start
	}
	require.That(t, count == 3*8 && cycles == (3*ticks).Cycles(), "%d instructions, %d cycles; want %d, %d", count, cycles, 3*8, (3 * ticks).Cycles())
	for name, want := range map[string]int64{
		"outer/kernel": 9, "inner/kernel": 3, "[.workload]/workload": 3, "[.phase.entry]/entry": 3,
		"[.slots]/step": 3, "[0xffffffff80104000]/step": 3,
	} {
		require.That(t, byFunc[name] == want, "%s: %d instructions, want %d (have %v)", name, byFunc[name], want, byFunc)
	}
}

// byPhase adds up the samples of a profile by their label.
func byPhase(t *testing.T, p *Profile) map[string][2]int64 {
	t.Helper()
	got := require.Must(profile.ParseData(written(t, p)))(t)
	sum := map[string][2]int64{}
	for _, s := range got.Sample {
		total := sum[s.Label["phase"][0]]
		sum[s.Label["phase"][0]] = [2]int64{total[0] + s.Value[0], total[1] + s.Value[1]}
	}
	return sum
}

func TestProfileByPhase(t *testing.T) {
	var sum clock.Ticks
	for _, s := range steps() {
		sum += s.End - s.Start
	}
	want := map[string]int64{"kernel": 4, "workload": 1, "entry": 1, "step": 2}
	cycles := int64(0)
	for phase, total := range byPhase(t, profiled(t, loadGood(t), 1)) {
		cycles += total[1]
		require.That(t, want[phase] == total[0], "phase %s: %d instructions, want %d", phase, total[0], want[phase])
	}
	require.That(t, cycles == sum.Cycles(), "phases have %d cycles, want %d", cycles, sum.Cycles())
}

// TestProfileFar checks images whose code is spread wide.
func TestProfileFar(t *testing.T) {
	e := imagetest.Kernel()
	e.Sections = append(e.Sections,
		imagetest.Section{Name: ".far", Addr: 0x1000, Size: 0x10, Flags: e.Sections[0].Flags})
	far := require.Must(image.Load("good.elf", e.Build()))(t)
	a, b := byPhase(t, profiled(t, far, 2)), byPhase(t, profiled(t, loadGood(t), 2))
	require.That(t, maps.Equal(a, b), "sparse %v, dense %v", a, b)
}

// TestProfileStacks follows a call, an exception on its way, a jump out of line, a return and what it falls into, by the
// functions alone.
func TestProfileStacks(t *testing.T) {
	im := loadGood(t)
	outer, inner := symbolAt(t, im, "outer"), symbolAt(t, im, "inner")
	step := func(pc uint64, context uint8) *cpus.Step {
		return &cpus.Step{PC: pc, Code: []byte{0}, End: clock.PerCycle, Context: context}
	}
	entry, slot := uint64(imagetest.Base+0x150), uint64(imagetest.Base+0x1010)
	p := NewProfile(im)
	for _, s := range []*cpus.Step{
		step(outer+2, 0), step(inner, 0), // a call
		step(entry, cpus.Breakpoint), step(entry+1, cpus.Breakpoint), // an exception: its code has no symbol
		step(slot, 0),    // it ends elsewhere
		step(outer+7, 0), // and that returns past its caller
		step(inner, 0), step(inner+1, 0), step(inner+3, 0),
		step(outer+2, 0),
		step(inner, cpus.Breakpoint), step(inner+3, 0), // an exception, and the instruction that ends it
	} {
		p.Step(s)
	}
	got := require.Must(profile.ParseData(written(t, p)))(t)
	stacks := map[string]int64{}
	for _, s := range got.Sample {
		var names []string
		for _, l := range s.Location {
			names = append(names, l.Line[0].Function.Name)
		}
		stacks[strings.Join(names, "<")] += s.Value[0]
	}
	want := map[string]int64{"outer": 3, "inner<outer": 6, "[.phase.entry]<inner<outer": 2, "[.slots]<inner<outer": 1}
	require.That(t, maps.Equal(stacks, want), "stacks %v, want %v", stacks, want)
}

// TestProfileOfDeepStacks has two functions call each other without an end.
func TestProfileOfDeepStacks(t *testing.T) {
	im := loadGood(t)
	p, calls := NewProfile(im), [2]uint64{symbolAt(t, im, "outer"), symbolAt(t, im, "inner")}
	for i := range 3 * maxDepth {
		p.Step(&cpus.Step{PC: calls[i%2], Code: []byte{0}, End: clock.PerCycle})
	}
	deepest := 0
	for _, s := range require.Must(profile.ParseData(written(t, p)))(t).Sample {
		deepest = max(deepest, len(s.Location))
	}
	require.Equal(t, deepest, maxDepth, "functions of the deepest stack")
}

// symbolAt is the address of a symbol.
func symbolAt(t *testing.T, im *image.Image, name string) uint64 {
	t.Helper()
	s, ok := im.Symbol(name)
	require.Need(t, ok, "no symbol %s", name)
	return s.Addr
}

// TestProfileMapping holds that code of the image, and no other, belongs to its mapping.
func TestProfileMapping(t *testing.T) {
	im := loadGood(t)
	got, err := profile.ParseData(written(t, profiled(t, im, 1)))
	if err != nil || len(got.Mapping) != 1 {
		t.Fatal(err, got)
	}
	start, size := im.CodeRange()
	if m := got.Mapping[0]; m.Start != start || m.Limit != start+size || m.File != im.Name {
		t.Errorf("%s from %#x to %#x, the code of %s from %#x to %#x", m.File, m.Start, m.Limit, im.Name, start, start+size)
	}
	inside := map[bool]int{}
	for _, l := range got.Location {
		in := l.Address-start < size
		if inside[in]++; (l.Mapping != nil) != in {
			t.Errorf("%#x: mapping %v", l.Address, l.Mapping)
		}
	}
	require.That(t, inside[true] != 0 && inside[false] != 0, "addresses inside and outside: %v", inside)
}

func TestProfileOpensWithPprof(t *testing.T) {
	hosttools.Long(t, "opening a profile with go tool pprof, which Go compiles first", "the fields of the file")
	goTool := hosttools.Need(t, "go", "golang", "opening a profile with go tool pprof")
	name := filepath.Join(t.TempDir(), "profile.pb.gz")
	require.NoError(t, os.WriteFile(name, written(t, profiled(t, loadGood(t), 100)), 0o644))
	cmd := exec.Command(goTool, "tool", "pprof", "-top", "-nodecount=3", name)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	require.Need(t, err == nil, "go tool pprof: %v\n%s", err, out)
	for _, want := range []string{"Type: cycles", "[.phase.entry]", "inner"} {
		require.That(t, strings.Contains(string(out), want), "go tool pprof does not print %q:\n%s", want, out)
	}
}

func BenchmarkProfileStep(b *testing.B) {
	im := require.Must(image.Load("good.elf", imagetest.Kernel().Build()))(b)
	p := NewProfile(im)
	s := &cpus.Step{PC: imagetest.Base + 0x20, End: 60}
	b.ReportAllocs()
	for b.Loop() {
		p.Step(s)
	}
}
