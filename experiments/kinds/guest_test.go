package kinds_test

import (
	"bytes"
	"debug/elf"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/internal/require"
	"kprobesim/workloads"
)

// patched writes a copy of a guest image whose function symbol starts with other code, and returns its
// path.
func patched(t *testing.T, image, symbol string, code []byte) string {
	t.Helper()
	b := require.Must(workloads.Open(image))(t)
	b = bytes.Clone(b)
	f := require.Must(elf.NewFile(bytes.NewReader(b)))(t)
	syms := require.Must(f.Symbols())(t)
	for _, s := range syms {
		if s.Name != symbol {
			continue
		}
		sec := f.Sections[s.Section]
		copy(b[sec.Offset+s.Value-sec.Addr:], code)
		return exptest.Write(t, t.TempDir(), "patched.elf", string(b))
	}
	t.Fatalf("no symbol %s", symbol)
	return ""
}

// TestBadGuests runs guests that misbehave: each must end with an error that names the guest's
// address.
func TestBadGuests(t *testing.T) {
	exptest.Alone(t)
	for experiment, image := range exptest.Eras() {
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
		err := require.Err(kinds.Measure(exptest.PointOf(t, experiment, "k", "kernel.image="+file, "budget=2 ms")))
		for _, want := range c.want {
			require.Error(t, err, want, "%s", c.name)
		}
	}
}
