package arm

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/kprobes"
	"kprobesim/kprobes/kprobestest"
)

var update = flag.Bool("update", false, "rewrite testdata/outcomes.txt")

// TestOutcomes compares what all rules decide of drawn functions with what they decided before.
func TestOutcomes(t *testing.T) {
	draw := func(r *rand.Rand) (code []byte) {
		for range 1 + r.IntN(6) {
			w := word(r.Uint32())
			switch r.IntN(4) {
			case 0:
				w = w&^condition | always
			case 1:
				row := rows[r.IntN(len(rows))]
				w = row.value | w&^row.mask
			}
			code = append(code, bytesOf(w)...)
		}
		return code
	}
	template := kprobes.Template{Marks: []int{0, 4, 12, 16}}
	for _, w := range []word{0xe24dd048, 0xe28d3048, 0xe8ddffff, 0, 0} { // room, the stack pointer, and two literals
		template.Code = append(template.Code, bytesOf(w)...)
	}
	sums := kprobestest.OfArch("arm", 6000, Arch(), draw, template)
	sums += kprobestest.Sums("packaged", 6000, Arch(), draw, []kprobestest.Rule{
		{Name: "starts", Decides: func(d *kprobestest.Drawn) string {
			return fmt.Sprint(Packaged{}.Starts(d.Fn), Packaged{}.Boundary(d.Fn, d.Addr))
		}},
		{Name: "run", Decides: func(d *kprobestest.Drawn) string {
			mode, err := Packaged{}.Run(d.Code(), d.Addr)
			return fmt.Sprint(mode, err, len(d.Code()) >= wordSize && Packaged{}.Leaves(d.Code()))
		}},
		{Name: "region", Decides: func(d *kprobestest.Drawn) string {
			region, refused := Packaged{Detours: d.Far}.Region(d.Site())
			return fmt.Sprint(region, refused)
		}},
	})
	require.Lines(t, "testdata/outcomes.txt", sums, *update)
}
