// Package races searches for interleavings of CPUs in which changing code that is executed goes
// wrong. A scenario (scenarios/*.toml) is a script that registers, optimizes, disables and removes
// probes on one CPU of a booted guest kernel while tasks on others call the probed function. Each
// schedule runs the script once, under another interleaving; in the end everything is as it was,
// so that one machine runs many of them.
//
// # Schedules
//
// Who executes next is decided instruction by instruction in code that a patch could concern (the
// probed functions, out-of-line slots, detour buffers, the stores that patch), and every few
// instructions elsewhere. Policies: random (runs of geometric length), pct (priorities with a few
// change points), exhaustive (every way to depart from a fixed order by a bounded number of
// preemptions in that code, each on a machine of its own, but for ways that do the same as another
// one: reduce.go). A schedule follows from the scenario, the options and its number alone: batches of a thousand share a machine, and a replay runs the batch
// again up to it.
//
// # What is checked
//
// A checker compares every instruction of that code with what may be executed: the instruction as
// compiled, a breakpoint where a probe stands, or a whole jump to a buffer that is in use. What code is, and
// which stores other CPUs see whole, the architecture of the probes says (kprobes.Arch). Stores into code are seen at
// once, so a simulated CPU never executes what a real one may have fetched before: unsynced.go has the rule for that.
// docs/races.md explains each kind of violation, and what the search cannot see.
//
// Time is not predicted here: CPUs need about a cycle for everything, and a jiffy is as short as the
// scenario says. In plans of exhaustive, time passes only where a turn ends.
package races
