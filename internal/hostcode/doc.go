// Package hostcode writes and executes machine code of the host, where the host is an x86-64 with Linux. What is
// simulated does not depend on it: each caller has another way to do the same. It also has an instruction of
// hosts for which Go has no function, Prefetch.
//
// Code that is executed by Call must follow these rules. It keeps RSP and RBP, and may change all other registers. It
// calls nothing, ends by returning what Call returns in RAX, and does so soon: the runtime cannot stop a goroutine
// meanwhile. It stores no pointer to the heap of the runtime.
package hostcode
