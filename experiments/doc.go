// Package experiments holds the experiment files (*.toml) and the machine descriptions (machines/*.toml)
// of this program, which carries them, so that they are found by name wherever it runs. Its tests hold
// these files against what was published.
//
// The packages below it turn a file into a measurement, each using those before it:
//
//	schema       what a file says, as types: experiment, kernel, workload, probe, plan, point
//	planning     from the name of a file to a plan: bases, settings, sweeps, collections, keys of each kind, checks
//	kinds        measures a point, by the kind of its experiment
//	running      the points of a plan, several at a time
//	keeping      measurements on disk, by the hash of what they follow from
//	timelines    what every CPU did during a point
//	reports      records, tables and figures of each kind, the results directory
//	calibration  fits the numbers of a machine that are marked fitted
//	sensitivity  varies the others, and says which of them move which row
//
// What the files may say is in docs/keys.md: the keys of experiments and of machine descriptions, how a file builds on
// another one, and how an option overrides a key. Every number of a machine names its source, and there are never more
// fitted numbers than figures that they were fitted on.
//
// # What is measured
//
// A point's machine boots, runs the loop without the probe, registers the probe, runs it once (the
// first, cold hit), and after warm-up as often as without. The overhead of a hit is the difference
// of the two loops over the number of hits; instructions and cycles by phase likewise. A point
// fails when the probe is not in the mode that the file names, or missed a hit.
package experiments
