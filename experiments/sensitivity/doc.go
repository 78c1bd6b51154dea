// Package sensitivity asks which numbers of a machine description the overhead of a hit rests on. Each
// sourced number goes to the low and to the high end of its uncertainty, one at a time, and the experiment
// is run with it. Fitted numbers stay, or are fitted again so that the fitted figures stay. It varies
// no two numbers together: the sum at the end of a table takes them as independent.
package sensitivity
