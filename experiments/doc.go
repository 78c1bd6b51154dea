// Package experiments holds the experiment files (*.toml) and the machine descriptions (machines/*.toml)
// of this program, which carries them, so that they are found by name wherever it runs. Its tests hold
// these files against what was published.
//
// The packages below it turn a file into a measurement, each using those before it:
//
//	schema       what a file says, as types: experiment, kernel, workload, probe, plan, point
//	planning     from the name of a file to a plan: bases, settings, sweeps, collections, keys of each kind, checks
//	kinds        measures a point, by the kind of its experiment
//	running      the points of a plan, several at a time
//	keeping      measurements on disk, by the hash of what they follow from
//	timelines    what every CPU did during a point
//	reports      records, tables and figures of each kind, the results directory
//	calibration  fits the numbers of a machine that are marked fitted
//	sensitivity  varies the others, and says which of them move which row
//
// # Experiment files
//
//	name = "..."                  # of the results directory and in every record
//	title = "..."                 # of the table
//	machine = "xeon-e5410"        # a name, or the path of a file ("./my.toml", from this file's folder)
//	seed = 0                      # what the layouts of replicates are drawn from
//	replicates = 1                # how often each point is measured, each time under a layout of its own
//	budget = "1 s"                # simulated time that one point may take
//	figures = ["overhead", "phases"]
//
//	[kernel]
//	image = "x86_64-2010"         # a name, or a path with a slash in it ("./my.elf")
//	isa = "x86_64"                # or "i386"
//	era = "2010"
//	memory = "64 MiB"
//	hz = 1000                     # jiffies a second
//
//	[workload]
//	loop = "bench_loop"           # guest function: loop(target, calls, argument, argument); or user_loop,
//	                              # which is in user mode and has a system call call the target
//	target = "bench_target"       # guest function that is called and probed
//	args = [1, 2]
//	offset = 0                    # of the probe in the target, in bytes
//	warmup = 64                   # calls before the measured ones
//	hits = 1000                   # calls that are measured
//
//	[[points]]                    # one for each probe
//	name = "k"
//	title = "kprobe"
//	kind = "kprobe"               # or "kretprobe", "jprobe"
//	mode = "step"                 # or "boosted", "emulated", "optimized": what the probe must turn out to be
//	handler = "handler_empty"     # guest function: pre-handler, return handler, or function of a jprobe
//	maxactive = 0                 # of a kretprobe
//	with = [{ kind = "kretprobe", handler = "ret_empty" }] # further probes at the same place,
//	                              # registered after the first one; all must be in the mode
//	role = "fitted"               # or "predicted", of a published figure; held against the machine description
//	published = { time = "0.99 us", source = "..." }
//
//	[repeats]                     # of the published figures, when they are measured again
//	spread = "22 %"
//	source = "..."
//
//	[sweep]                       # dotted keys, each with a list of values: a cross product
//	"workload.hits" = [100, 1000]
//	"machine.event.mispredict.cycles" = [10, 15, 20]
//
// A file may build on another one: base = "overhead-xeon-e5410-x86_64" (or a path) at its top takes
// everything from there that the file itself does not say. Tables are merged key by key, points by their
// name; a table that names its source is replaced as a whole. Machine descriptions have the same.
//
// A file that collects others runs their points and reports them together, under the names
// EXPERIMENT:POINT. It has no points, machine or kernel of its own:
//
//	name = "..."
//	title = "..."
//	collect = ["overhead-opteron-246", "./mine.toml"]
//	figures = ["overhead"]        # a panel for each experiment
//
//	[[differences]]               # of two points of each experiment, against the published ones
//	of = "r"
//	less = "k"
//	era = "2005"                  # when it is for kernels of one era
//	means = "what a return probe costs more"
//
// Options of the form key=value override any key by its dotted path, elements of a list by name or
// index (points.k.handler=handler_count), and the machine description by "machine." and its key. The options of a
// collection go to every file that it collects, but for the keys of the collection itself.
//
// # Machine descriptions
//
// Every table with a number says where it is from: source = "NAME: where", NAME being explained in [sources], or fitted =
// ["k"] and source = "fitted: ..." for a number that was fitted on the published figures of the named points of the
// experiment in [calibration]. There are never more fitted numbers than figures. An event that cannot be told apart from
// another one is tied to it: same_as = "exception_breakpoint" instead of cycles, with a source that says why; it has the
// other's number, also while that is fitted, and more = 10 makes it so many cycles dearer. Costs are cycles, written as
// integers, decimals or fractions. See machines/xeon-e5410.toml for all tables; the ISA names classes and events.
//
// # What is measured
//
// A point's machine boots, runs the loop without the probe, registers the probe, runs it once (the
// first, cold hit), and after warm-up as often as without. The overhead of a hit is the difference
// of the two loops over the number of hits; instructions and cycles by phase likewise. A point
// fails when the probe is not in the mode that the file names, or missed a hit.
package experiments
