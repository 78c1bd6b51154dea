// Package protocol frames the packets of gdb's remote serial protocol, as appendix E of its manual describes them
// (Debugging with GDB, "GDB Remote Serial Protocol"). It knows no command.
package protocol
