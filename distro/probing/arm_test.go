package probing

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"kprobesim/image"
	"kprobesim/image/linux"
	"kprobesim/image/linux/linuxtest"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
	armrules "kprobesim/kprobes/arm"
)

// onARM is a made-up kernel of ARM. Its tables have addresses, which the file has as they are.
func onARM(t *testing.T) *Kernel {
	t.Helper()
	base := uint64(linuxtest.Text) & (1<<32 - 1)
	functions := []struct {
		name string
		code []uint32
	}{
		{"_stext", []uint32{0xe1a00000}},
		{"traced", []uint32{0xe92d4010, 0xe52de004, 0xe8bd4000, 0xe3a00001, 0x0bfffffe, 0xe8bd8010}}, // a call of ftrace behind two stores
		{"label", []uint32{0xe320f000, 0xe1a00000, 0xeafffffe}},
		{"exclusive", []uint32{0xe1923f9f, 0xe1a00000, 0xc15ac76c, 0xe7f001f2, 0xe72d000f}},
		{"__irqentry_text_start", nil},
		{"interrupted", []uint32{0xe1a00000}},
		{"__irqentry_text_end", nil},
		{"black", []uint32{0xe1a00000}},
		{"_etext", nil},
		{"end", []uint32{0}},
	}
	var code []byte
	var symbols []image.Symbol
	at := map[string]uint32{}
	for _, f := range functions {
		at[f.name] = uint32(base) + uint32(len(code))
		symbols = append(symbols, image.NewSymbol(f.name, uint64(at[f.name]), 0, f.code != nil, true, ".text"))
		for _, w := range f.code {
			code = binary.LittleEndian.AppendUint32(code, w)
		}
	}
	from := &linux.Kernel{Setup: linux.Setup{Release: "6.1.0-50-armmp"}}
	table := func(name string, size int, words ...uint32) {
		from.Tables = append(from.Tables, linux.Table{Name: name, Addr: base + uint64(len(code)), Size: uint64(4 * len(words)), Entry: uint64(size)})
		for _, w := range words {
			code = binary.LittleEndian.AppendUint32(code, w)
		}
	}
	table("jump labels", 12, at["label"], at["label"]+8, 0)
	table("ftrace sites", 4, at["traced"]+8)
	table("blacklist of probes", 4, at["black"])
	im, err := image.LoadBare("made-up", linuxtest.Kernel{Bits: 32, Code: code}.ELF(), func(*image.Image) ([]image.Symbol, error) { return symbols, nil })
	require.NoError(t, err)
	im.Machine = elf.EM_ARM
	from.Image = im
	k := require.Must(Read(from, nil))(t)
	k.rules = armrules.Packaged{Detours: base} // where it would be linked, it lies too far away
	return k
}

// TestRulesOfARM asks for each rule of a kernel of ARM.
func TestRulesOfARM(t *testing.T) {
	k := onARM(t)
	for _, x := range []struct {
		place string
		rule  Rule
		event bool
	}{
		{"traced", "", true},
		{"traced+8", ruleFtrace, false},
		{"traced+2", ruleBoundary, false},
		{"label", ruleJumpLabel, false},
		{"label+4", "", false},
		{"label+8", "", false},
		{"exclusive", ruleNotCopied, false},
		{"exclusive+8", "", false}, // a constant, which would be a comparison with a bit that should be zero
		{"exclusive+12", ruleNotCopied, false},
		{"exclusive+16", ruleNotCopied, false}, // stores further below the stack pointer than is kept free by a register
		{"interrupted", ruleEntry, false},
		{"black", ruleBlacklist, false},
		{"end", ruleText, false},
	} {
		v := k.At(require.Must(k.Resolve(x.place))(t))
		want := map[bool]int{true: 0, false: int(kprobes.EINVAL)}[x.rule == ""]
		require.That(t, v.Rule == x.rule && v.Errno == want && v.Event == x.event && v.Probe == (x.rule == "") && v.Optimized == v.Probe, "%s: %+v", x.place, v)
		require.That(t, !v.Probe || v.Kind == "emulated" && v.Exceptions == 1, "%s: %+v", x.place, v)
	}
	v, err := k.Choose("traced", kprobes.Emulated)
	require.That(t, err == nil && v.Place == "traced+0x0", "chosen: %+v, %v", v, err)
	require.Equal(t, k.Doubt(), "", "doubt")
	require.Equal(t, len(k.straight(v.Addr)), 6, "instructions up to the return, with a call before it")
	require.Equal(t, len(k.straight(require.Must(k.Resolve("interrupted"))(t))), 1, "instructions of a function without a return")
}
