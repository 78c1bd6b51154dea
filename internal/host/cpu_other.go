//go:build !unix

package host

import (
	"os"
	"time"
)

// Peak and PeakOf are 0: this host does not say how much memory a process had.
func Peak() int64 { return 0 }

// PeakOf is 0.
func PeakOf(*os.ProcessState) int64 { return 0 }

// CPU is 0: this host does not say what a process took.
func CPU() time.Duration { return 0 }
