// Package native executes generated machine code of the host in a child process, and returns how long it takes. A
// program that faults ends the child alone, which the next program finds started anew.
package native
