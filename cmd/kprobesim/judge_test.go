package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/judging"
)

// TestCasesArePrinted prints loops by kind, one that has no time on the host among them, and rows of them.
func TestCasesArePrinted(t *testing.T) {
	v := &judging.Verdict{Cases: []*judging.Case{
		{Kind: "strides", Text: "64 B", Native: 4, Priced: 4.5},
		{Kind: "strides", Text: "4160 B", Priced: 2, Left: errors.New("the host is busy")},
		{Kind: "pages", Text: "128", Native: 10, Priced: 8},
	}}
	var out bytes.Buffer
	a := &app{out: &sticky{w: &out}}
	a.printCases(nil, "none")
	a.printCases(v.Cases, "A processor")
	require.Equal(t, out.String(), `A processor, 3 loops

cycles of a round                                                           host    priced    error
strides
  64 B                                                                      4.00      4.50  +12.5 %
  4160 B                                                                       -      2.00  left out: the host is busy
pages
  128                                                                      10.00      8.00  -20.0 %

                                loops     mean    within 15 %
strides                             1   12.5 %              1
pages                               1   20.0 %              0
all                                 2   16.2 %              1
`, "the table")
	require.Equal(t, string(rowsOf(v)), `block,native_cycles,priced_cycles,llvm_mca_cycles,class,instructions,source
64 B,4.000,4.500,,strides,,loop
4160 B,,2.000,,strides,,loop
128,10.000,8.000,,pages,,loop
`, "rows")
}

// TestJudgedTells says at each hundredth block how far it is, where this host times them.
func TestJudgedTells(t *testing.T) {
	for measured, want := range map[string]string{"": "100 of 250 blocks\n200 of 250 blocks\n", "blocks.csv": ""} {
		var said strings.Builder
		tell := newApp(&said, &said).judged(&judgeOptions{measured: measured, blocks: 250})
		for done := 1; done <= 250; done++ {
			tell(done)
		}
		require.Equal(t, said.String(), want, "with --measured %q said is", measured)
	}
}

// TestMachineSettings takes keys of a machine, and no whole machine.
func TestMachineSettings(t *testing.T) {
	all := require.Must(machineSettings([]string{"machine.core.width=4", "machine.name=x"}))(t)
	require.That(t, len(all) == 2 && strings.Join(all[0].Path, " ") == "machine core width" && strings.Join(all[1].Path, " ") == "machine name", "%+v", all)
	for arg, want := range map[string]string{
		"machine=x": "--set machine=x: keys of the machine alone, such as machine.core.width=4", "core.width=4": "keys of the machine alone", "none": "none",
	} {
		require.Error(t, require.Err(machineSettings([]string{"machine.name=x", arg})), want, "--set %s", arg)
	}
}
