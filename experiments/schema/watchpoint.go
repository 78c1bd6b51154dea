package schema

import (
	"kprobesim/internal/doc"
	"kprobesim/kprobes"
)

// Watchpoint is the watchpoint of a point, and the function that its loop calls.
type Watchpoint struct {
	kprobes.Watch
	Calls string // instead of the workload's target; it takes the workload's arguments
	Hits  bool   // whether a call hits the watchpoint, once
}

// watchHandler does nothing: what is left is the cost of a hit.
const watchHandler = "kwatch_empty"

// readPoint reads a point: a probe, or a watchpoint where it says what to watch.
func readPoint(r *doc.Reader) Probe {
	if r.Has("watch") {
		return readWatchpoint(r)
	}
	return readProbe(r)
}

// readWatchpoint reads a point. Its mode is that of every kernel, as no probe depends on it.
func readWatchpoint(r *doc.Reader) Probe {
	defer r.Done()
	w := &Watchpoint{
		Watch: kprobes.Watch{
			Type:    doc.Need(r, "watch", watchType),
			Symbol:  doc.Need(r, "symbol", doc.Text),
			Offset:  uint64(doc.Opt(r, "offset", 0, doc.Int(0, 1<<20))),
			Length:  uint8(doc.Opt(r, "length", 1, doc.Int(1, 8))),
			Handler: doc.Opt(r, "handler", watchHandler, doc.Text),
		},
		Calls: doc.Need(r, "calls", doc.Text),
		Hits:  doc.Opt(r, "hits", true, doc.Flag),
	}
	name := doc.Need(r, "name", doc.Name)
	return Probe{
		Name: name, Title: doc.Opt(r, "title", name, doc.Text), Mode: kprobes.Stepped,
		Registration: Registration{Handler: w.Handler}, Watch: w,
	}
}

func watchType(n *doc.Node) (kprobes.WatchType, error) {
	word, err := doc.OneOf(kprobes.WatchExecute.String(), kprobes.WatchWrite.String(), kprobes.WatchAccess.String())(n)
	if err != nil {
		return 0, err
	}
	return kprobes.ParseWatchType(word)
}
