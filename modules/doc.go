// Package modules loads modules into a guest kernel as the kernel itself does, and takes them away again: it links an object
// file at a place in the area for modules, writes its parameters, runs its init function in a task, counts who uses it, runs
// its exit function, and lets its text vanish.
//
// The work is Go and takes no time of the guest, but for what the module's own functions execute. A
// kernel does more for its own sake, which is left out: signatures, versions of symbols, notifiers, per-CPU data of modules, and tables of
// exceptions of modules.
package modules
