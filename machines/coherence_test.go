package machines

import (
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/doc"
	"kprobesim/internal/require"
)

// TestCoherence reads whether caches of instructions and of data show what was stored. The instruction set
// has a say: the caches of one whose software does nothing about them are coherent.
func TestCoherence(t *testing.T) {
	for _, x := range []struct {
		l1i, l1d                 string
		incoherent, writeThrough bool
	}{
		{"", "", false, false},
		{"coherent = true, ", "write_through = false, ", false, false},
		{"coherent = false, ", "", true, false},
		{"coherent = false, ", "write_through = true, ", true, true},
	} {
		text := strings.Replace(made, "l1i = { ", "l1i = { "+x.l1i, 1)
		text = strings.Replace(text, "l1d = { ", "l1d = { "+x.l1d, 1)
		for _, line := range []int{128, 0, 256} {
			root := require.Must(doc.Parse("folder/made.toml", []byte(text)))(t)
			isa := &cpus.ISA{
				Name: "made", Bits: 64, Classes: []string{"alu"}, Events: []string{"mispredict", "trap"}, Ports: []string{"alu"},
				CodeLine: line,
			}
			var errs doc.Errors
			m := Read(root, []*cpus.ISA{isa}, &errs)
			if x.incoherent && line != 128 {
				want := map[int]string{
					0:   "instruction caches of made are coherent: leave coherent = false out",
					256: "lines of 128 bytes: software of made keeps caches in step that have lines of 256 bytes or more",
				}[line]
				require.Error(t, errs.Err(), want, "%+v", x)
				continue
			}
			require.NoError(t, errs.Err())
			if m.CPU.L1I.Incoherent != x.incoherent || m.CPU.L1D.WriteThrough != x.writeThrough || m.CPU.L1D.Incoherent {
				t.Errorf("%+v: read %+v, %+v", x, m.CPU.L1I, m.CPU.L1D)
			}
		}
	}
}
