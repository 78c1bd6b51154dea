// Package kinds measures. Measure takes a point of a plan, boots a machine of its own for it, and returns a Measurement: what
// the calls took with the probe and without it, or the Quantities of another kind. Each kind has a file. Beside them stand
// what they share: the session on a booted machine (boot, register, loop), the counter of calls and hits, the accounts of
// every CPU, and the trace of one hit.
//
// Nothing is random, so a measurement repeats to the byte. Times stay in ticks and fractions; package reports rounds them.
// Reading and checking of files belong to package planning. It leaves out noise, frequency changes and other
// load, which spread numbers on hardware.
package kinds
