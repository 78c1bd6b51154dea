// Package measuring measures the probes that the kernel of a distribution has itself.
//
// A kernel is booted once, without the cost model, to a program that takes orders (distro/init/measure.c). That state is
// kept in memory. Each measurement goes on from it: it has the program set probes up, brings the cost model back, and
// measures a loop of system calls between two markers, which are instructions of the program that nothing else executes.
// Orders and answers are written to and read from the memory of the program while it stands at a marker.
//
// What the kernel itself says is believed of nothing but addresses, marks and counts: a probe that was not hit in every
// iteration, and one that is marked as optimized and whose jump is not there, are errors.
package measuring
