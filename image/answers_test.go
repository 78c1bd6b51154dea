package image

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"hash"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

var update = flag.Bool("update", false, "write the golden files of this package again")

// TestAnswers holds all that images say of addresses, symbols and types, as sums by what was asked.
func TestAnswers(t *testing.T) {
	paths := require.Must(filepath.Glob("../workloads/images/*-20[0-9][0-9].elf"))(t)
	if !*update {
		paths = hosttools.Share(t, "images", 4, paths)
	}
	var out strings.Builder
	for _, p := range paths {
		name := filepath.Base(p)
		im := require.Must(Load(name, require.Must(os.ReadFile(p))(t)))(t)
		for what, ask := range map[string]func(*Image, hash.Hash){"addresses": sayAddresses, "symbols": saySymbols, "types": sayTypes} {
			h := sha256.New()
			ask(im, h)
			fmt.Fprintf(&out, "%s %s %.6x\n", name, what, h.Sum(nil))
		}
	}
	const file = "testdata/answers.txt"
	lines := strings.Join(slices.Sorted(strings.Lines(out.String())), "")
	if *update {
		require.Lines(t, file, lines, true)
	}
	require.Among(t, file, lines)
}

// sayAddresses asks for every byte of code and for some of the rest.
func sayAddresses(im *Image, h hash.Hash) {
	for _, s := range im.Segments {
		step := uint64(1)
		if !s.Exec {
			step = 37
		}
		for off := uint64(0); off < min(s.MemSize, 1<<18)+3; off += step {
			at := s.VA + off - 2
			name, in, ok := im.In(at)
			file, line, lined := im.Line(at)
			sym, start := im.SymbolOff(at)
			fmt.Fprintln(h, name, in, ok, file, line, lined, sym, start, im.Phase(at), im.SectionAt(at), im.SymbolText(at), im.Bytes(at, 3), im.Callee(at))
		}
	}
	fmt.Fprintln(h, im.Segments)
}

// saySymbols asks for every symbol.
func saySymbols(im *Image, h hash.Hash) {
	for _, s := range im.Symbols {
		f, ok := im.Func(s.Name)
		addr, size, there := im.Section(s.Section)
		fmt.Fprintln(h, s, f, ok, im.SymbolsAt(s.Addr), im.FullName(s), im.CName(s.Name), addr, size, there)
		if file, line, ok := im.Line(s.Addr); ok {
			at, found := im.LineIn(file, line, s.Addr, s.Addr+s.Size)
			fmt.Fprintln(h, at, found)
		}
	}
}

// sayTypes asks for every struct and each of its members, and for every enumerator.
func sayTypes(im *Image, h hash.Hash) {
	for _, name := range slices.Sorted(maps.Keys(im.types.structs)) {
		st, err := im.Struct(name)
		if fmt.Fprintln(h, name, err); err != nil {
			continue
		}
		fmt.Fprintln(h, st.Size)
		n, _ := im.types.strip(st.typ)
		for _, m := range n.members {
			for _, path := range []string{m.name, m.name + "[0]", m.name + "[1]", m.name + ".next", m.name + "[1][0]"} {
				f, err := st.Field(path)
				fmt.Fprintln(h, path, f, err)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(im.types.enums)) {
		v, err := im.Enum(name)
		fmt.Fprintln(h, name, v, err)
	}
}
