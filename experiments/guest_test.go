package experiments

import (
	"bytes"
	"debug/elf"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/workloads"
)

const e5410 = "overhead-xeon-e5410-x86_64"

// eras are experiments of every instruction set and era, with their images.
func eras() map[string]string {
	return map[string]string{
		e5410: "x86_64-2010", "overhead-xeon-e5410-i386": "i386-2010",
		"overhead-opteron-246": "x86_64-2005", "overhead-pentium-m": "i386-2005",
	}
}

// patched writes a copy of a guest image whose function symbol starts with other code, and returns its
// path.
func patched(t *testing.T, image, symbol string, code []byte) string {
	t.Helper()
	b, err := workloads.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.Clone(b)
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range syms {
		if s.Name != symbol {
			continue
		}
		sec := f.Sections[s.Section]
		copy(b[sec.Offset+s.Value-sec.Addr:], code)
		return write(t, t.TempDir(), "patched.elf", string(b))
	}
	t.Fatalf("no symbol %s", symbol)
	return ""
}

// TestBadGuests runs guests that misbehave: each must end with an error that names the guest's
// address.
func TestBadGuests(t *testing.T) {
	alone(t)
	for experiment, image := range eras() {
		t.Run(experiment, func(t *testing.T) { badGuests(t, experiment, image) })
	}
}

func badGuests(t *testing.T, experiment, image string) {
	for _, c := range []struct {
		name, symbol string
		code         []byte
		want         []string
	}{
		{"loops for ever", "bench_target", []byte{0xeb, 0xfe}, []string{"budget", "<bench_target+0x0>", "work/bench.c:"}},
		{"jumps into the void", "bench_target", []byte{0x31, 0xc0, 0xff, 0xe0}, []string{"guest panic"}},
		{"undefined instruction", "bench_target", []byte{0x0f, 0x0b}, []string{"guest panic"}},
		// lidt of a table without entries, then int3
		{"triple fault", "bench_target", []byte{
			0x6a, 0x00, 0x6a, 0x00, 0x0f, 0x01, 0x1c, 0x24, 0xcc,
		}, []string{"triple fault", "bench_target"}},
		{"halts for ever", "bench_target", []byte{0xfa, 0xf4}, []string{"bench_target"}},
	} {
		file := patched(t, image, c.symbol, c.code)
		p, err := NewLoader().Plan(experiment, []string{"kernel.image=" + file, "budget=2 ms"})
		if err != nil {
			t.Fatal(err)
		}
		k, err := p.Point("k")
		if err != nil {
			t.Fatal(err)
		}
		_, err = MeasurePoint(k)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", c.name, err, want)
			}
		}
	}
}

func TestOffsetInsideInstruction(t *testing.T) {
	_, err := NewLoader().Plan(e5410, []string{"workload.offset=3", "points.k.kind=kprobe"})
	if err == nil || !strings.Contains(err.Error(), "is inside the instruction at +0x0") {
		t.Errorf("got %v", err)
	}
}

// TestOwnFilesFromAnyPath runs an experiment, a machine and an image that are no part of the
// program.
func TestOwnFilesFromAnyPath(t *testing.T) {
	dir := t.TempDir()
	image, err := workloads.Open("x86_64-2010")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "my.elf", string(image))
	_, machine, err := readNamed("machines", "machine", "xeon-e5410", "")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "my.toml", strings.Replace(string(machine), `name = "xeon-e5410"`, `name = "mine"`, 1))
	_, text, err := readNamed(".", "experiment", e5410, "")
	if err != nil {
		t.Fatal(err)
	}
	r := strings.NewReplacer(`machine = "xeon-e5410"`, `machine = "./my.toml"`, `image = "x86_64-2010"`, `image = "./my.elf"`)
	file := write(t, dir, "experiment.toml", r.Replace(string(text)))
	p, err := NewLoader().Plan(file, []string{"workload.hits=10"})
	if err != nil {
		t.Fatal(err)
	}
	if p.Points[0].Machine.Name != "mine" || p.Points[0].Image.Name != filepath.Join(dir, "my.elf") {
		t.Errorf("machine %s, image %s", p.Points[0].Machine.Name, p.Points[0].Image.Name)
	}
	report := NewReport(p, (&Runner{Measure: MeasurePoint}).Run(p))
	if err := report.Err(); err != nil {
		t.Error(err)
	}
}
