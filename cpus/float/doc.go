// Package float computes with the numbers of IEEE 754-2008 in software, so that every host gets the same bits: the
// host's own floating point may contract a product and a sum, and has no double extended format.
//
// One core unpacks, rounds and packs every format. An operation is exact before it is rounded once. What instruction
// sets choose for themselves is in Context: which NaN an operation gives, which exceptions are delivered, what becomes of
// denormal numbers.
package float
