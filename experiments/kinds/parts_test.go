package kinds_test

import (
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
)

// TestLinuxParts holds what is made of a region and of the run of a program under a packaged kernel, where no kernel is needed.
func TestLinuxParts(t *testing.T) {
	exptest.Golden(t, "linux_regions.txt", kinds.LinuxRegions(t))
	exptest.Golden(t, "linux_runs.txt", kinds.LinuxRuns(t))
}
