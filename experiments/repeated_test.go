package experiments_test

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// TestRepeatedLikePlain clears and copies memory that the first level has not, 4 KiB by a repeated instruction, and by a plain loop. The lines
// come one behind the other either way, so the times are of one order: only the plain loop has several lines asked for at once.
func TestRepeatedLikePlain(t *testing.T) {
	loops := fromFile[struct {
		Name            string
		Repeated, Plain loopCode
	}]("repeated.json")
	for _, name := range hosttools.Share(t, "machines with prefetchers", 3, []string{"xeon-gold-6330", "epyc-9654", "xeon-e5-2630-v3"}) {
		m := loopMachine(t, name)
		m.CPU.Model = cpus.Window
		for _, l := range loops {
			repeated, plain := codeCycles(t, m, l.Repeated, 1), codeCycles(t, m, l.Plain, 512)
			require.That(t, plain/2 < repeated && repeated < 3*plain, "%s, %s: 4 KiB take %.0f cycles, and %.0f by a plain loop", name, l.Name, repeated, plain)
		}
	}
}

// TestFastStringsAsPublished fills and copies half of the first level by bytes. InstLatx64's rows 525 and 533 of these processors have the bytes
// a cycle, read and written together.
func TestFastStringsAsPublished(t *testing.T) {
	file := fromFile[struct {
		Text, Setup, Before, Behind string
		Published                   []struct {
			Machine             string
			Bytes, Movsb, Stosb float64
		}
	}]("fast_strings.json")[0]
	for _, x := range hosttools.Share(t, "processors with fast strings", 2, file.Published) {
		m := loopMachine(t, x.Machine)
		size := hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, uint32(x.Bytes)))
		for _, l := range []struct {
			name, code       string
			published, times float64 // bytes a cycle, and how often each byte is accessed
		}{{"rep movsb", "f3a4", x.Movsb, 2}, {"rep stosb", "f3aa", x.Stosb, 1}} {
			cycles := codeCycles(t, m, loopCode{Setup: file.Setup + size, Body: file.Before + size + l.code + file.Behind}, 1)
			got := l.times * x.Bytes / cycles
			t.Logf("%s, %s: %.1f bytes a cycle, published %.1f", x.Machine, l.name, got, l.published)
			require.That(t, math.Abs(got/l.published-1) < 0.08, "%s, %s: %.1f bytes a cycle, published %.1f", x.Machine, l.name, got, l.published)
		}
	}
}
