//go:build !unix

package main

import "os"

// mostMemory is 0: this host does not say how much memory a process had.
func mostMemory(*os.ProcessState) int64 { return 0 }
