// Command kprobesim runs experiments about the cost of kernel probes on simulated machines: see
// `kprobesim help`. The work is done by package experiments; this command reads options, prints,
// and turns errors into exit codes.
package main

import (
	"os"
	"runtime"

	"kprobesim/experiments/keeping"
)

func main() {
	// Each point makes a machine and drops it, and a collection behind every few megabytes of that took 40 % of a run of short points.
	// The ballast counts as live, so the garbage may grow as large before it is collected. Nothing touches it: it takes no memory.
	ballast := make([]byte, keeping.Ballast)
	code := run(os.Args[1:], os.Stdout, os.Stderr)
	runtime.KeepAlive(ballast)
	os.Exit(code)
}
