// Package measured reads what the module kprobesim_measure printed on a kernel, and makes records of it: what a hit of each kind
// takes beyond the same loop without a probe. The module's own files say what it times.
//
// A table is read whole or not at all. Its last line has the number of lines and a sum of their bytes.
package measured
