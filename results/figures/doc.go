// Package figures draws records. The data flow has three steps. OverheadBars, PhaseStack, SweepChart, BarChart, CallCurves and
// TornadoOf turn a set of records into a Figure: *Bars, *Stack, *Lines, *ECDF, *Tornado, or *Panels of several. ShowMissed,
// ShowOverrides and ShowReplicates add to its caption what the data do not show. Render draws it with gonum/plot and returns
// SVG, PNG, PDF and PGF.
//
// The library draws axes and text. Layout, legend, captions and what makes the bytes the same on every host are ours: fixed
// dates in a PDF, rounded lengths in PGF, the width of every text in an SVG.
package figures
