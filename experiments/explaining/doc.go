// Package explaining says of places in the guest kernels of this program whether a probe may stand there, how a hit of it
// runs and which rule says no. It also asks such a kernel by registering a probe at each place, and measures what a hit of
// each kind costs on a machine.
//
// Package kprobes has the rules; registration applies the same.
package explaining
