package workloads

import "slices"

// Handler is a function of the guest that can be attached to a probe. Experiments name it by Name, or
// by Short under the key that says what it is.
type Handler struct {
	Key   string // of a probe in an experiment, such as "post_handler"
	Kind  string // of the probes that have it: "kprobe", "kretprobe" or "jprobe"
	Short string
	Name  string // the guest symbol
	Text  string
	Data  bool // it keeps a word in the private data of a return instance
}

// The keys of handlers. The members of the kernel's structures have these names, but for KeyHandler of a
// kprobe, which is another name of its pre-handler, and of a jprobe, whose member is called entry.
const (
	KeyHandler = "handler"
	KeyPre     = "pre_handler"
	KeyPost    = "post_handler"
	KeyFault   = "fault_handler"
	KeyEntry   = "entry_handler"
)

// Kinds of probes that have handlers.
const kprobe, kretprobe, jprobe = "kprobe", "kretprobe", "jprobe"

// handlers is a table, which nothing changes: every planned point looks several of them up.
var handlers = [...]Handler{
	{Key: KeyPre, Kind: kprobe, Short: "empty", Name: "handler_empty", Text: "returns"},
	{Key: KeyPre, Kind: kprobe, Short: "count", Name: "handler_count", Text: "adds to a counter of the CPU"},
	{Key: KeyPre, Kind: kprobe, Short: "shared_count", Name: "handler_shared_count", Text: "adds to one counter of all CPUs"},
	{Key: KeyPre, Kind: kprobe, Short: "work", Name: "handler_work", Text: "computes for some hundred cycles"},
	{Key: KeyPre, Kind: kprobe, Short: "faulting", Name: "handler_faulting", Text: "reads where no memory is"},
	{Key: KeyPost, Kind: kprobe, Short: "empty", Name: "post_empty", Text: "returns"},
	{Key: KeyPost, Kind: kprobe, Short: "count", Name: "post_count", Text: "adds to a counter of the CPU"},
	{Key: KeyFault, Kind: kprobe, Short: "count", Name: "fault_count", Text: "adds to a counter of the CPU and leaves the fault to the kernel"},
	{Key: KeyHandler, Kind: kretprobe, Short: "empty", Name: "ret_empty", Text: "returns"},
	{Key: KeyHandler, Kind: kretprobe, Short: "count", Name: "ret_count", Text: "adds to a counter of the CPU, and keeps the value"},
	{Key: KeyHandler, Kind: kretprobe, Short: "shared_count", Name: "ret_shared_count", Text: "adds to one counter of all CPUs"},
	{Key: KeyHandler, Kind: kretprobe, Short: "work", Name: "ret_work", Text: "computes for some hundred cycles"},
	{Key: KeyEntry, Kind: kretprobe, Short: "empty", Name: "entry_empty", Text: "returns"},
	{Key: KeyEntry, Kind: kretprobe, Short: "argument", Name: "entry_argument", Text: "keeps the first argument in the private data", Data: true},
	{Key: KeyEntry, Kind: kretprobe, Short: "veto", Name: "entry_veto", Text: "refuses: the return is not seen"},
	{Key: KeyHandler, Kind: jprobe, Short: "empty", Name: "jprobe_empty", Text: "returns"},
	{Key: KeyHandler, Kind: jprobe, Short: "count", Name: "jprobe_count", Text: "adds to a counter of the CPU"},
}

// Handlers lists the functions of every image that are made for probes.
func Handlers() []Handler { return slices.Clone(handlers[:]) }

// HandlerNamed returns the listed handler that a word stands for under a key of a probe of some kind:
// its short name, or the guest symbol. A kprobe's KeyHandler is its pre-handler.
func HandlerNamed(kind, key, word string) (Handler, bool) {
	if kind == kprobe && key == KeyHandler {
		key = KeyPre
	}
	i := slices.IndexFunc(handlers[:], func(h Handler) bool {
		return h.Kind == kind && h.Key == key && (h.Short == word || h.Name == word)
	})
	if i < 0 {
		return Handler{}, false
	}
	return handlers[i], true
}
