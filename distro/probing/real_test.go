package probing_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/boards/pc"
	"kprobesim/cpus/cpustest"
	"kprobesim/cpus/x86"
	"kprobesim/distro"
	"kprobesim/distro/probing"
	"kprobesim/image/linux"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// TestKernelAgrees asks kernels of a distribution for trace events at random places, and compares their answers with
// the verdicts.
func TestKernelAgrees(t *testing.T) {
	for _, file := range hosttools.Kernels(t, "vmlinuz*", "asking the kernel of a distribution for probes") {
		b := require.Must(os.ReadFile(file))(t)
		k := require.Must(linux.Read(file, b))(t)
		t.Run(filepath.Base(file), func(t *testing.T) { compare(t, k) })
	}
}

// TestKernelsOfManyKindsAgree asks kernels for clouds, of i386 with PAE and of newer versions, and has each come to its first program
// and switch the machine off.
func TestKernelsOfManyKindsAgree(t *testing.T) {
	for _, file := range hosttools.Kernels(t, "more/vmlinuz*", "asking kernels of many kinds for probes") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b := require.Must(os.ReadFile(file))(t)
			k := require.Must(linux.Read(file, b))(t)
			compare(t, k)
			c := config(k)
			c.Initrd = distro.Initrd([]distro.File{require.Must(distro.Init(k.Image.Bits))(t)})
			m := require.Must(distro.Run(c, distro.Stop{}))(t)
			require.That(t, m.Ended() == distro.Halted && strings.Contains(m.Console(), "init: running"), "ended by %q:\n%s", m.Ended(), m.Console())
		})
	}
}

// config is a machine without a cost model.
func config(k *linux.Kernel) distro.Config {
	isa := x86.ISA64()
	if k.Image.Bits == 32 {
		isa = x86.ISA32()
	}
	return distro.Config{
		Kernel: k, CPU: cpustest.Config(isa), Untimed: true, Board: pc.Legacy{Date: 1_700_000_000}, Command: distro.DefaultCommand,
	}
}

// compare boots twice: once for the text that the rules look at, and once to ask.
func compare(t *testing.T, k *linux.Kernel) {
	t.Helper()
	const places = 200
	first := require.Must(distro.Ask(k.Image.Bits))(t)
	c := config(k)
	m := require.Must(distro.Run(c, distro.Stop{Symbol: "rest_init"}))(t)
	rules, err := probing.Read(k, func(va uint64, n int) []byte {
		b, err := m.ReadBytes(va, n)
		if err != nil {
			return nil
		}
		return b
	})
	require.NoError(t, err)
	var sites []uint64
	r, seen := rand.New(rand.NewPCG(7, 7)), map[uint64]bool{}
	for len(sites) < places {
		if at := rules.Random(r.Uint64); !seen[at] {
			seen[at], sites = true, append(sites, at)
		}
	}
	c.Initrd = distro.Initrd([]distro.File{first, {Name: "sites", Mode: distro.ModeFile, Data: probing.Orders(sites)}})
	asked := require.Must(distro.Run(c, distro.Stop{Text: probing.AskDone}))(t)
	answers := require.Must(probing.Answers(asked.Console(), sites))(t)
	verdicts := make([]probing.Verdict, len(sites))
	for i, at := range sites {
		verdicts[i] = rules.At(at)
	}
	kinds := map[string]int{}
	for i, v := range probing.Together(verdicts) {
		require.That(t, answers[i].Agrees(v), "%s: the kernel says %v, the rules %+v", v.Place, answers[i], v)
		kinds[answers[i].String()]++
	}
	require.That(t, len(kinds) >= 4, "the kernel gave few kinds of answers: %v", kinds)
}
