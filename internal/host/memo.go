package host

// Memo bounds what the CPUs of one machine remember of the window model's work (package cpus/engine).
// Results do not depend on it. Only tests change it.
var Memo = struct {
	Blocks int // passages of blocks, about 380 bytes each; 0 remembers none
	Runs   int // executions of a block before it is remembered
}{1 << 17, 4}

// Code says whether blocks are translated into host code, and when. Results do not depend on it. The command's option --no-host-code sets Off before anything runs; else only tests change it.
var Code = struct {
	Blocks uint8 // executions of a block up to its translation, under the window model
	Room   int   // bytes of a CPU's code
	Off    bool  // none is translated
}{Blocks: 60, Room: 32 << 20}

// Decoded bounds the bytes of the host that the decoded code of a machine's CPUs takes, about: a fixed part, which no kernel of ours
// comes near, beside a share of the guest's memory, and what each CPU has at least. Results do not depend on it. Only tests change it.
var Decoded = struct{ Base, Share, Least int }{96 << 20, 8, 4 << 20}
