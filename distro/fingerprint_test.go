package distro

import (
	"reflect"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/image/linux"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// TestDescribe holds that values which differ anywhere are told apart, and that the order of a map does not count.
func TestDescribe(t *testing.T) {
	type inner struct{ Low, High int64 }
	type sample struct {
		Name string
		On   bool
		By   map[string]inner
		List []uint16
		No   map[uint64][]uint64
	}
	text := func(v any) string {
		var b strings.Builder
		require.NoError(t, describe(&b, "x", reflect.ValueOf(v)))
		return b.String()
	}
	base := func() sample {
		return sample{"a", true, map[string]inner{"one": {1, 2}, "two": {3, 4}}, []uint16{5, 6}, map[uint64][]uint64{7: {8}}}
	}
	seen := map[string]string{text(base()): "nothing"}
	for what, change := range map[string]func(*sample){
		"name": func(s *sample) { s.Name = "a\nx.On: true" }, "flag": func(s *sample) { s.On = false },
		"value": func(s *sample) { s.By["two"] = inner{3, 5} }, "more": func(s *sample) { s.By["three"] = inner{} },
		"list": func(s *sample) { s.List = []uint16{56} }, "second": func(s *sample) { s.List[1] = 7 }, "order": func(s *sample) { s.List = []uint16{6, 5} },
		"moved": func(s *sample) { s.No = map[uint64][]uint64{7: {}, 8: {8}} },
	} {
		s := base()
		change(&s)
		other, ok := seen[text(s)]
		require.That(t, !ok, "a change of %s is the same as one of %s", what, other)
		seen[text(s)] = what
	}
	for range 20 {
		_, ok := seen[text(base())]
		require.Need(t, ok, "the same value has two texts")
	}
	require.Error(t, describe(&strings.Builder{}, "x", reflect.ValueOf(struct{ F func() }{})), "x.F", "a function is described")
}

// store keeps in memory, and counts what it found.
type store struct {
	files map[string][]byte
	found int
}

func (s *store) Load(key []byte) ([]byte, bool) {
	b, ok := s.files[string(key)]
	if ok {
		s.found++
	}
	return b, ok
}

func (s *store) Save(key, content []byte) { s.files[string(key)] = content }

// TestRecall finds a boot by everything that it depends on, and by nothing else.
func TestRecall(t *testing.T) {
	kept := &store{files: map[string][]byte{}}
	base := func() Config {
		return Config{
			Kernel: &linux.Kernel{Image: &image.Image{}}, Board: dated{1}, CPUs: 1, Command: "quiet", Initrd: []byte("files"), Kept: kept,
		}
	}
	c := base()
	c.Remember("place", []byte("state"))
	b, ok := c.Recall("place")
	require.That(t, ok && string(b) == "state", "what was kept is not found")
	c.Halt = func() error { return nil }
	_, ok = c.Recall("place")
	require.That(t, ok, "a boot under a limit of the host is another one")
	_, ok = c.Recall("other place")
	require.That(t, !ok, "another place is found")
	for what, change := range map[string]func(*Config){
		"kernel":  func(c *Config) { c.Kernel.Sum[0]++ },
		"machine": func(c *Config) { c.CPU.Hz++ },
		"board":   func(c *Config) { c.Board = dated{2} },
		"CPUs":    func(c *Config) { c.CPUs++ },
		"memory":  func(c *Config) { c.RAM = 1 << 20 },
		"disk":    func(c *Config) { c.Persistent = 1 },
		"command": func(c *Config) { c.Command += " " },
		"files":   func(c *Config) { c.Initrd = []byte("other") },
		"tree":    func(c *Config) { c.Tree = []byte("tree") },
		"budget":  func(c *Config) { c.Budget++ },
		"timing":  func(c *Config) { c.Untimed = true },
	} {
		c := base()
		change(&c)
		_, ok := c.Recall("place")
		require.That(t, !ok, "a boot with another %s is found", what)
	}
	c = base()
	c.Board = closed{new(int)}
	c.Remember("place", []byte("unknown"))
	_, ok = c.Recall("place")
	require.That(t, !ok && len(kept.files) == 1, "a machine that cannot be told from others was kept")
	c = base()
	c.Kept = nil
	c.Remember("place", nil)
	_, ok = c.Recall("place")
	require.That(t, !ok && kept.found == 2, "%d are found in all", kept.found)
}

// dated is a board with a clock.
type dated struct{ Date int64 }

// closed is a board that cannot be described.
type closed struct{ at *int }

func (closed) Space(*cpus.ISA) (sim.Space, error) { return sim.Space{}, nil }
func (closed) Build(*sim.Backplane) sim.Hardware  { return nil }

func (dated) Space(*cpus.ISA) (sim.Space, error) { return sim.Space{}, nil }
func (dated) Build(*sim.Backplane) sim.Hardware  { return nil }
