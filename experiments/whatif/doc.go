// Package whatif answers what a probe would cost at the rate of events that its user expects, from measurements of the same way
// to attach: of a program of BPF on a packaged kernel, by the points of the experiment linux-attach.
//
//	the text of a probe, the kernel's verdict -> Ways -> points to measure
//	their cycles a hit, rate, CPUs            -> Ask  -> Answer: text or JSON
//
// A hit is taken to cost at the probe's place what it costs where it was measured: the way is the same, the function is not. Its
// share of a CPU is rate times cycles.
package whatif
