// Package draw has the random numbers of replicates. Each use has a stream of its own, named by the seed
// of the experiment, the number of the replicate and what is drawn. A new stream therefore changes
// no other one, and a replicate does not depend on those before it.
//
// The numbers are the same on every host: keys are SHA-256 (FIPS 180-4), sequences are PCG-DXSM of
// math/rand/v2 with both words of its state given.
package draw

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// Key names a stream. Zero is no stream: what would be drawn stays as it is without replicates.
type Key uint64

// NewKey returns the key of a stream, which is never zero.
func NewKey(seed uint64, replicate int, name string) Key {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%d/%s", seed, replicate, name))
	return Key(max(binary.BigEndian.Uint64(sum[:]), 1))
}

// Below returns the first number of the stream, from 0 to n-1; n must be positive. The numbers are even to
// within n/2^64.
func (k Key) Below(n uint64) uint64 { return k.Sequence(0).Uint64() % n }

// Sequence returns the stream's numbers from the first one on. A stream of several parts, for instance one
// for each CPU, has one sequence a part.
func (k Key) Sequence(part int) *rand.PCG { return rand.NewPCG(uint64(k), uint64(part)) }
