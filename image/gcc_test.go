package image

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"kprobesim/image/imagetest"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// gccImage compiles testdata/guest.c for x86-64, or skips the test without a compiler for it.
func gccImage(tb testing.TB, flags ...string) []byte {
	tb.Helper()
	cc := hosttools.Compiler(tb, "x86_64-linux-gnu-gcc", "amd64", "gcc-x86-64-linux-gnu", "DWARF of a compiled image")
	out := filepath.Join(tb.TempDir(), "guest.elf")
	args := append([]string{
		"-g", "-O2", "-ffreestanding", "-nostdlib", "-static", "-no-pie", "-fno-pic",
		"-mcmodel=kernel", "-Wl,--build-id=none", "-Wl,-Ttext-segment=0xffffffff80100000",
		"-o", out, "guest.c",
	}, flags...)
	cmd := exec.Command(cc, args...)
	cmd.Dir = "testdata"
	msg, err := cmd.CombinedOutput()
	require.Need(tb, err == nil, "%s %s: %v\n%s", cc, strings.Join(args, " "), err, msg)
	b := require.Must(os.ReadFile(out))(tb)
	return b
}

// TestCompiledImage checks layouts and lines that a real compiler wrote, in both DWARF versions
// that the supported compilers use.
func TestCompiledImage(t *testing.T) {
	for _, flags := range [][]string{
		{"-gdwarf-5"},
		{"-gdwarf-4"},
		{"-gdwarf-2"},
		{"-gdwarf-5", "-gz"},
		{"-ffile-prefix-map=" + mustGetwd(t) + "/testdata=."},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			im := require.Must(Load("guest.elf", gccImage(t, flags...)))(t)
			checkFields(t, im)
			checkEnums(t, im)
			checkLines(t, im)
		})
	}
}

func mustGetwd(t *testing.T) string {
	t.Helper()
	dir := require.Must(os.Getwd())(t)
	return dir
}

func checkFields(t *testing.T, im *Image) {
	t.Helper()
	for _, c := range []struct {
		typ, path string
		offset    uint64
		size      int
		fail      string
	}{
		{"probe", "node", 0, 16, ""},
		{"probe", "node.pprev", 8, 8, ""},
		{"probe", "nmissed", 16, 8, ""},
		{"probe", "ainsn.boostable", 48, 4, ""},
		{"probe", "raw", 56, 8, ""},
		{"probe", "high", 60, 4, ""},
		{"probe", "words", 68, 32, ""},
		{"probe", "words[2]", 84, 8, ""},
		{"probe", "words[2].hi", 85, 1, ""},
		{"probe", "words[3].plain", 96, 4, ""},
		{"probe", "grid", 100, 24, ""},
		{"probe", "grid[1]", 112, 12, ""},
		{"probe", "grid[1][2]", 120, 4, ""},
		{"probe", "copy[15]", 139, 1, ""},
		{"probe", "handler", 144, 8, ""},
		{"probe", "tail", 152, 0, ""},
		{"word_t", "both", 0, 2, ""},
		{"word_t", "plain", 4, 4, ""},
		{"hook", "next", 0, 8, ""},
		{"probe", "flag", 0, 0, "bit-field"},
		{"probe", "gone", 0, 0, "there are node, nmissed"},
		{"probe", "node.gone", 0, 0, "next, pprev"},
		{"probe", "addr.x", 0, 0, "no struct"},
		{"probe", "words.lo", 0, 0, "[n]"},
		{"probe", "words[4]", 0, 0, "4 elements"},
		{"probe", "grid[0][0][0]", 0, 0, "2 dimensions"},
		{"probe", "nmissed[0]", 0, 0, "no array"},
		{"probe", "words[x]", 0, 0, "no index"},
		{"probe", "words[1", 0, 0, "missing ]"},
		{"probe", "words[1]x", 0, 0, "unexpected"},
		{"probe", "", 0, 0, "no member"},
		{"probe", "tail[1]", 0, 0, "ends at byte"},
		{"gone", "x", 0, 0, "declares no struct gone"},
		{"u64", "x", 0, 0, "no struct or union"},
	} {
		f, err := field(im, c.typ, c.path)
		if c.fail != "" {
			require.That(t, err != nil && strings.Contains(err.Error(), c.fail), "%s.%s: error %v does not say %q", c.typ, c.path, err, c.fail)
			continue
		}
		require.That(t, err == nil && f.Offset == c.offset && f.Size == c.size, "%s.%s = %+v, %v; want %d, %d", c.typ, c.path, f, err, c.offset, c.size)
	}
}

func checkEnums(t *testing.T, im *Image) {
	t.Helper()
	for name, want := range map[string]int64{"SMALLEST": -3, "LARGEST": 0x3ff0000} {
		require.Got(im.Enum(name))(t, want, "%s", name)
	}
	require.Error(t, require.Err(im.Enum("NONE")), "no enumerator NONE", "NONE")
}

func field(im *Image, typ, path string) (Field, error) {
	s, err := im.Struct(typ)
	if err != nil {
		return Field{}, err
	}
	return s.Field(path)
}

// checkLines holds the line table against the source: some instruction of every function comes
// from the line that is marked by its text.
func checkLines(t *testing.T, im *Image) {
	t.Helper()
	src := require.Must(os.ReadFile("testdata/guest.c"))(t)
	text := strings.Split(string(src), "\n")
	for fn, want := range map[string]string{
		"handler": "return x + x;", "work": "sum += i ^ n;", "_start": "if (probes)",
	} {
		s, ok := im.Symbol(fn)
		require.Need(t, ok, "no symbol %s", fn)
		found := false
		for a := s.Addr; a < s.Addr+s.Size; a++ {
			file, line, ok := im.Line(a)
			require.Need(t, ok && file == "guest.c" && line >= 1 && line <= len(text), "Line(%s+%#x) = %q:%d, %v", fn, a-s.Addr, file, line, ok)
			found = found || strings.Contains(text[line-1], want)
		}
		require.That(t, found, "no instruction of %s comes from %q", fn, want)
	}
	require.Equal(t, im.Phase(mustSymbol(t, im, "handler").Addr), PhaseHandler, "handler is in phase")
}

func mustSymbol(t *testing.T, im *Image, name string) Symbol {
	t.Helper()
	s, ok := im.Symbol(name)
	require.Need(t, ok, "no symbol %s", name)
	return s
}

// exercise calls everything an image offers, for the fuzzers.
func exercise(im *Image) {
	for i := range im.Symbols {
		s := &im.Symbols[i]
		for _, a := range []uint64{s.Addr, s.Addr + s.Size, s.Addr - 1} {
			im.At(a)
			im.Line(a)
			im.Phase(a)
		}
		im.Symbol(s.Name)
	}
	for _, typ := range []string{"probe", "word_t", "hook", "arch_insn"} {
		for _, path := range []string{
			"node.next", "words[2].hi", "grid[1][2]", "high", "x", "tail[3]", "ainsn.insn", "handler",
		} {
			_, _ = field(im, typ, path) // any error will do, a panic will not
		}
	}
}

// TestDamagedImages cuts and flips real files everywhere: an image or an error, never a panic.
func TestDamagedImages(t *testing.T) {
	require.Outcomes(t, imagetest.Kernel().Build(), 3, "04c108f74fdc", func(b []byte) string {
		im, err := Load("damaged.elf", b)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%x %v %v %v %v", im.Entry, im.Segments, im.Symbols, im.Natives, im.SymbolText(im.Entry+4))
	})
	for _, version := range []string{"-gdwarf-5", "-gdwarf-4"} {
		t.Run(version, func(t *testing.T) { damage(gccImage(t, version)) })
	}
}

func damage(good []byte) {
	seed := uint64(1)
	random := func(n int) int { // xorshift
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		return int(seed % uint64(n))
	}
	for range 500 {
		b := append([]byte(nil), good...)
		for range 1 + random(8) {
			b[random(len(b))] = byte(random(256))
		}
		if random(4) == 0 {
			b = b[:random(len(b))]
		}
		if im, err := Load("damaged.elf", b); err == nil {
			exercise(im)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(imagetest.Kernel().Build())
	if hosttools.Look("gcc") != "" && runtime.GOARCH == "amd64" {
		f.Add(gccImage(f, "-gdwarf-5"))
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		if im, err := Load("fuzz.elf", b); err == nil {
			exercise(im)
		}
	})
}
