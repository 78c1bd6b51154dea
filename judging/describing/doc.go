// Package describing measures the host's processor in user mode, and writes a machine description of it. Numbers that user
// mode cannot reach come from a description of the same family, and are named priors.
//
// Most numbers come from a list of short loops (loops.json), one for each number. A loop runs on the host and in the simulator.
// Where the two differ, the number is changed until the simulator takes as long as the host. So a number means what
// the model makes of it. A loop that no value explains leaves its number as it was, and is reported.
package describing
