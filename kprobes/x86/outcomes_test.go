package x86

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
	"kprobesim/kprobes/kprobestest"
)

var update = flag.Bool("update", false, "rewrite testdata/outcomes.txt")

// TestOutcomes compares what all rules decide of drawn functions with what they decided before.
func TestOutcomes(t *testing.T) {
	var out strings.Builder
	modes := []int{64, 32}
	if !*update {
		modes = hosttools.Share(t, "modes", 2, modes)
	}
	for _, mode := range modes {
		draw := func(r *rand.Rand) []byte { return drawFunction(r, mode) }
		name := fmt.Sprintf("%d bits", mode)
		out.WriteString(kprobestest.OfArch(name, 1500, arch(mode), draw, testTemplate(t)))
		for _, p := range []Packaged{{Mode: mode}, {Mode: mode, Groups: true, Untabled: true}, Packaged{Mode: mode, Thunks: kprobes.Span{Start: 1 << 30, End: 1<<30 + 1<<19}}.Remembering()} {
			out.WriteString(kprobestest.Sums(fmt.Sprintf("packaged, %s, %v, %v", name, p.Groups, p.last != nil), 1500, arch(mode), draw, packagedRules(p)))
		}
	}
	if len(modes) == 2 {
		require.Lines(t, "testdata/outcomes.txt", out.String(), *update)
	} else {
		require.Among(t, "testdata/outcomes.txt", out.String())
	}
}

func packagedRules(p Packaged) []kprobestest.Rule {
	return []kprobestest.Rule{
		{Name: "starts", Decides: func(d *kprobestest.Drawn) string { return fmt.Sprint(p.Starts(d.Fn)) }},
		{Name: "boundary", Decides: func(d *kprobestest.Drawn) string { return fmt.Sprint(p.Boundary(d.Fn, d.Addr)) }},
		{Name: "run", Decides: func(d *kprobestest.Drawn) string {
			mode, err := p.Run(d.Code(), d.Addr)
			return fmt.Sprint(mode, err, p.Leaves(d.Code()))
		}},
		{Name: "region", Decides: func(d *kprobestest.Drawn) string {
			region, refused := p.Region(d.Site())
			return fmt.Sprint(region, refused)
		}},
	}
}

// drawFunction has instructions of all opcode maps, most of which can be read, and some branches within the function.
func drawFunction(r *rand.Rand, mode int) (code []byte) {
	for n := 4 + r.IntN(12); n > 0; {
		b := randomInsn(r)
		switch r.IntN(12) {
		case 0:
			b[0], b[1] = 0x70|b[0]&15, b[1]%64-32 // a jump under a condition
		case 1:
			b = append([]byte{[]byte{0xeb, 0xe9, 0xe8}[r.IntN(3)], b[1]%64 - 32}, b[2:]...)
			if b[0] != 0xeb {
				b[2], b[3], b[4] = -(b[1] >> 7), -(b[1] >> 7), -(b[1] >> 7)
			}
		case 2:
			b[0] = 0x0f
			if r.IntN(3) == 0 {
				b[1] = []byte{0x38, 0x3a, 0x01}[r.IntN(3)]
			}
		case 3:
			b[0] = []byte{0xc4, 0xc5, 0x62, 0xff, 0xcc, 0xc0, 0xf6, 0xfe, 0xcd}[r.IntN(9)]
		case 4:
			b = append([]byte(unknown()[r.IntN(len(unknown()))]), b...)
		}
		length := lengthByMap(b, mode)
		if in, err := decode(b, 0, mode); err == nil {
			length = len(in.Code)
		}
		if length > 0 && length <= maxInsn || r.IntN(40) == 0 {
			code = append(code, b[:max(1, min(length, len(b)))]...)
			n--
		}
	}
	return code
}
