package workloads

import "fmt"

// Site is a place for a probe: a function of the guest and an offset in bytes.
type Site struct {
	Symbol string
	Offset uint64
}

// How the sites of sites.S lie, which every architecture has in its folder work.
const (
	siteFunctions = 64
	sitesEach     = 16
	siteBytes     = 8
)

// SiteCount is the number of sites. More would need other functions in the guest.
const SiteCount = siteFunctions * sitesEach

// Sites returns the patch sites that every image has for many probes at a time. On each of them is an
// instruction that can run elsewhere and that can be optimized by itself. Neighbours in the list lie in
// different functions.
func Sites() []Site {
	var s []Site
	for at := range uint64(sitesEach) {
		for f := range siteFunctions {
			s = append(s, Site{fmt.Sprintf("site_%d", f), at * siteBytes})
		}
	}
	return s
}
