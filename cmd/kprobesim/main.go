// Command kprobesim runs experiments about the cost of kernel probes on simulated machines: see
// `kprobesim help`. The work is done by package experiments; this command reads options, prints,
// and turns errors into exit codes.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }
