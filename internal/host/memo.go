package host

// Memo bounds what the CPUs of one machine remember of the window model's work (package cpus/engine).
// Results do not depend on it. Only tests change it.
var Memo = struct {
	Blocks int // passages of blocks, about 300 bytes each; 0 remembers none
	Runs   int // executions of a block before it is remembered
}{1 << 15, 4}
