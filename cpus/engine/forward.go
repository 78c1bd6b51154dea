package engine

// sentStores are the stores that were executed last. They tell which store a load meets when both are
// executed. When its data arrives is the window model's to say. So addresses do not reach that model: it
// is told of a match by the number of a store.
type sentStores struct {
	sent     [sentUnits]sentStore // by four-byte unit; a store stands in its first and its last unit
	sequence uint64               // number of the last store
	sends    uint64               // instructions of the running block that have stored
	live     uint64               // stores, the last ones placed, that a load may have to wait for
}

// sentStore is one of them. The zero value has no bytes.
type sentStore struct {
	pa, end uint64 // physical addresses of its first byte and behind its last
	number  uint64
}

// forwards is the number of stores that may be on their way to the cache, as far as loads see them. The
// units are more, so that stores to different places seldom share one. A younger store takes the place
// of an older one in a unit, even if it has other bytes there.
const (
	forwards  = 64
	sentUnits = 256
)

// What a load finds among the stores before it.
const (
	noStore   = iota
	forwarded // one that has its bytes and hands them over
	blocking  // one that has some of its bytes: it must be in the cache first
)
