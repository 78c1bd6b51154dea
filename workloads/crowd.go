package workloads

import "fmt"

// How the text of crowd.S lies, which every architecture has in its folder work: functions crowd_0 and so on.
const (
	CrowdFunctions = 128
	crowdEach      = 80
)

// Names of that text in the image: its ends, and the instruction that is to be written all over it.
const (
	CrowdStart   = "__crowd_start"
	CrowdEnd     = "__crowd_end"
	CrowdPattern = "crowd_pattern"
)

// Crowd returns the places for very many probes, once CrowdPattern has been written over the text that is there for
// them; size is that of the pattern in bytes. At each is an instruction that can run elsewhere and that can be
// optimized by itself. Neighbours in the list lie in different functions, at different distances from their starts, because registering reads a
// function up to the probe. Preemptible images have no such
// text.
func Crowd(size uint64) []Site {
	const middle, step = crowdEach / 2, 37 // from one function to the next; it divides nothing of crowdEach
	s := make([]Site, 0, CrowdFunctions*crowdEach)
	for at := range uint64(crowdEach) {
		for f := range uint64(CrowdFunctions) {
			s = append(s, Site{fmt.Sprintf("crowd_%d", f), (middle + at + step*f) % crowdEach * size})
		}
	}
	return s
}
