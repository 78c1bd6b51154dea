// Package exptest has what the tests of several packages below experiments need: a toy instruction set
// with a machine and an experiment of a few lines, and the experiments of this program made small.
package exptest
