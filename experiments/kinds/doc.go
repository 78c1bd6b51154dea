// Package kinds measures. Each kind of experiment has a file of its own: the keys of its workload, what it
// does on a machine that has booted, and the columns and figures that show what came out. Beside them stand
// what they share: the session on a booted machine, the accounts of what every CPU spends its time on, and
// the trace of one hit. Every point has a machine of its own, and nothing is random, so that a
// measurement can be repeated to the byte. Times are kept in ticks and fractions until they are
// recorded. Left out is what spreads numbers on hardware: noise, frequency changes, other load.
package kinds
