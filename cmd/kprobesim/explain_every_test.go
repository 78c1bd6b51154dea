package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"kprobesim/distro"
	"kprobesim/distro/probing"
	"kprobesim/image"
	kernel "kprobesim/image/linux"
	"kprobesim/image/linux/linuxtest"
	"kprobesim/internal/require"
)

// madeUpKernel has two functions, of which the second is on the blacklist.
func madeUpKernel(t *testing.T) *kernel.Kernel {
	t.Helper()
	code := make([]byte, 0x100)
	copy(code, "\x55\x48\x89\xe5\xb8\x01\x00\x00\x00\x5d\xc3") // push; mov; mov; pop; ret
	copy(code[0xb:], "\x55\x5d\xc3")
	binary.LittleEndian.PutUint64(code[0x80:], linuxtest.Text+0xb)
	k := &kernel.Kernel{}
	for i, name := range []string{"blacklist of probes", "jump labels", "ftrace sites"} {
		size := uint64(8)
		if i > 0 {
			size = 0
		}
		k.Tables = append(k.Tables, kernel.Table{Name: name, Addr: linuxtest.Text + 0x80, Size: size, Entry: 8})
	}
	im, err := image.LoadBare("made-up", linuxtest.Kernel{Bits: 64, Code: code}.ELF(), func(*image.Image) (out []image.Symbol, err error) {
		for _, s := range []struct {
			name string
			at   uint64
		}{{"_stext", 0}, {"plain", 0}, {"black", 0xb}, {"_etext", 0xe}, {"end", 0x80}} {
			out = append(out, image.NewSymbol(s.name, linuxtest.Text+s.at, 0, s.name == "plain" || s.name == "black", true, ".text"))
		}
		return out, nil
	})
	require.NoError(t, err)
	k.Image = im
	return k
}

// TestExplainEvery counts and lists the instructions of a whole kernel.
func TestExplainEvery(t *testing.T) {
	from := madeUpKernel(t)
	k := require.Must(probing.Read(from, nil))(t)
	var out bytes.Buffer
	a := &app{out: &sticky{w: &out}}
	c := distro.Config{Kernel: from}
	require.NoError(t, a.printVerdicts(&explainOptions{all: true, format: "json"}, c, k, nil, nil))
	var all []struct {
		Place, Instruction, Rule string
		Probe                    bool
	}
	if err := json.Unmarshal(out.Bytes(), &all); err != nil || len(all) != 8 {
		t.Fatalf("%v: %d places\n%s", err, len(all), out.String())
	}
	require.That(t, all[0].Probe && strings.HasPrefix(all[0].Instruction, "push") && all[7].Rule == "blacklist" && all[7].Place == "black+0x2", "%+v", all)
	out.Reset()
	require.NoError(t, a.printVerdicts(&explainOptions{all: true, format: "text"}, c, k, nil, nil))
	for _, s := range []string{"a hit is", "boosted", "        3  37.50 %  blacklist", "black+0x0  push", "        8  places\n"} {
		require.That(t, strings.Contains(out.String(), s), "%q is not in\n%s", s, out.String())
	}
}
