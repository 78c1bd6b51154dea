package probing_test

import (
	"bytes"
	"debug/elf"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"kprobesim/boards/pc"
	"kprobesim/boards/vexpress"
	"kprobesim/cpus/cpustest"
	"kprobesim/distro"
	"kprobesim/distro/probing"
	"kprobesim/image/linux"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/kept"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// TestKernelAgrees asks kernels of a distribution for trace events at random places, and compares their answers with
// the verdicts.
func TestKernelAgrees(t *testing.T) {
	agree(t, hosttools.Kernels(t, "vmlinuz*", "asking the kernel of a distribution for probes"))
}

// TestKernelOfARMAgrees asks a kernel of ARM.
func TestKernelOfARMAgrees(t *testing.T) {
	agree(t, hosttools.Kernels(t, "arm/vmlinuz*-armmp", "asking the kernel of a distribution for probes on ARM"))
}

func agree(t *testing.T, files []string) {
	t.Helper()
	for _, file := range files {
		k := require.Must(linux.Read(file, require.Must(os.ReadFile(file))(t), kept.Kernels()))(t)
		t.Run(filepath.Base(file), func(t *testing.T) { compare(t, k) })
	}
}

// TestKernelsOfManyKindsAgree asks kernels for clouds, of i386 with PAE, of older and of newer versions.
func TestKernelsOfManyKindsAgree(t *testing.T) {
	for _, file := range hosttools.Kernels(t, "more/vmlinuz*", "asking kernels of many kinds for probes") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b := require.Must(os.ReadFile(file))(t)
			k := require.Must(linux.Read(file, b, nil))(t)
			if doubt := require.Must(probing.Read(k, nil))(t).Doubt(); doubt != "" {
				hosttools.Unable(t, "asking a kernel for probes", doubt)
			}
			compare(t, k)
		})
	}
}

// config is a machine without a cost model.
func config(t *testing.T, k *linux.Kernel) distro.Config {
	t.Helper()
	isa := distro.ISA(k)
	c := distro.Config{
		Kernel: k, CPU: cpustest.Config(isa), Untimed: true, Board: pc.Legacy{Date: 1_700_000_000}, Command: distro.CommandOf(isa, 1),
	}
	if isa.Machine == elf.EM_ARM {
		c.CPU.Processor["midr"], c.CPU.Processor["cluster"], c.Board = 0x412fc0f1, 0, vexpress.Board{} // a Cortex-A15
		c.Tree = require.Must(os.ReadFile(filepath.Join(filepath.Dir(k.Image.Name), "vexpress-v2p-ca15_a7.dtb")))(t)
	}
	return c
}

// compare boots until the text is there that the rules look at, writes places into the initial file system, and asks for
// them. Behind the answers the machine is switched off.
func compare(t *testing.T, k *linux.Kernel) {
	t.Helper()
	c, ways, places := config(t, k), 4, 200
	if c.Tree != nil {
		ways, places = 2, 100 // all that is not refused becomes a branch
	}
	begin, _ := k.Image.Symbol("rest_init")
	files := func(sites []uint64) []byte {
		return distro.Initrd([]distro.File{
			{Name: "sites", Mode: distro.ModeFile, Data: probing.Orders(sites)}, require.Must(distro.Ask(k))(t),
		})
	}
	c.Initrd = files(slices.Repeat([]uint64{begin.Addr}, places))
	m := require.Must(distro.Run(c, distro.Stop{Symbol: begin.Name}))(t)
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
	// The rules look at the memory, which is to have probes soon.
	verdicts := make([]probing.Verdict, len(sites))
	for i, at := range sites {
		verdicts[i] = rules.At(at)
	}
	replace(t, m, c.Initrd, files(sites))
	m.Resume()
	require.NoError(t, m.Run())
	require.That(t, m.Ended() == distro.Halted, "ended by %q:\n%s", m.Ended(), m.Console())
	answers := require.Must(probing.Answers(m.Console(), sites))(t)
	kinds := map[string]int{}
	for i, v := range probing.Together(verdicts) {
		require.That(t, answers[i].Agrees(v), "%s: the kernel says %v, the rules %+v", v.Place, answers[i], v)
		kinds[answers[i].String()]++
	}
	require.That(t, len(kinds) >= ways, "the kernel gave few kinds of answers: %v", kinds)
}

// replace writes bytes into memory in place of others, which are there once.
func replace(t *testing.T, m *sim.Machine, old, by []byte) {
	t.Helper()
	require.Equal(t, len(by), len(old), "bytes in place of others")
	const piece = 1 << 20 // of which one holds the beginning
	for at := uint64(0); ; at += piece {
		b, err := m.ReadPhysical(at, piece)
		require.Need(t, err == nil, "the initial file system is not in memory: %v", err)
		if i := bytes.Index(b, old[:64]); i >= 0 {
			here := require.Must(m.ReadPhysical(at+uint64(i), len(old)))(t)
			if bytes.Equal(here, old) {
				require.NoError(t, m.WritePhysical(at+uint64(i), by))
				return
			}
		}
	}
}
