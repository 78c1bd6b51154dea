package schema

import (
	"slices"

	"kprobesim/internal/doc"
	"kprobesim/kprobes"
	"kprobesim/workloads"
)

// Registration is one probe that is registered. Handlers are symbols of the guest, "" for none.
type Registration struct {
	Kind      kprobes.Kind
	Handler   string // pre-handler, return handler, or function of a jprobe
	Post      string // post handler of a kprobe
	Fault     string // fault handler of a kprobe
	Entry     string // entry handler of a kretprobe
	MaxActive int64  // kretprobe instances; 0 for the kernel's default
	DataSize  int64  // bytes of private data in an instance of a kretprobe
	Disabled  bool   // registered and not armed
}

// Spec is the registration as package kprobes takes it, at an offset from a symbol.
func (r Registration) Spec(symbol string, offset uint64) kprobes.Spec {
	return kprobes.Spec{
		Kind: r.Kind, Symbol: symbol, Offset: offset, Handler: r.Handler, Post: r.Post, Fault: r.Fault,
		Entry: r.Entry, MaxActive: int32(r.MaxActive), DataSize: uint64(r.DataSize), Disabled: r.Disabled,
	}
}

// Handlers returns the handlers by the keys of the file, for what an error says of one.
func (r Registration) Handlers() map[string]string {
	return map[string]string{
		workloads.KeyHandler: r.Handler, workloads.KeyPost: r.Post, workloads.KeyFault: r.Fault,
		workloads.KeyEntry: r.Entry,
	}
}

// Has reports whether the registration has a listed handler with some property.
func (r Registration) Has(property func(workloads.Handler) bool) bool {
	return slices.ContainsFunc(workloads.Handlers(), func(h workloads.Handler) bool {
		return property(h) && slices.Contains([]string{r.Handler, r.Post, r.Fault, r.Entry}, h.Name)
	})
}

// flagDisabled is the one flag that the caller of a registration may set.
const flagDisabled = "disabled"

// readRegistration reads the keys that say what is registered.
func readRegistration(r *doc.Reader) Registration {
	kind := doc.Need(r, "kind", readKind)
	p := Registration{
		Kind:      kind,
		Handler:   readHandler(r, kind, workloads.KeyHandler),
		Post:      readHandler(r, kind, workloads.KeyPost),
		Fault:     readHandler(r, kind, workloads.KeyFault),
		Entry:     readHandler(r, kind, workloads.KeyEntry),
		MaxActive: doc.Opt(r, "maxactive", 0, doc.Int(0, 4096)),
		DataSize:  doc.Opt(r, "data_size", 0, doc.Size().Whole(false, 0, 1<<16)),
		Disabled:  len(doc.Opt(r, "flags", nil, doc.ListOf(doc.OneOf(flagDisabled)))) > 0,
	}
	if pre := readHandler(r, kind, workloads.KeyPre); pre != "" && p.Handler != "" {
		r.Errorf(workloads.KeyPre, "%s is another name of it: write one of them", workloads.KeyHandler)
	} else if pre != "" {
		p.Handler = pre
	}
	p.check(r)
	return p
}

// readHandler reads a handler: a short name of the list, or a symbol of the guest.
func readHandler(r *doc.Reader, kind kprobes.Kind, key string) string {
	word := doc.Opt(r, key, "", doc.Text)
	if h, ok := workloads.HandlerNamed(kind.String(), key, word); ok {
		return h.Name
	}
	return word
}

// check holds the keys against the kind of probe. A probe without any handler would measure what nobody
// has asked for, so it is a mistake.
func (p *Registration) check(r *doc.Reader) {
	none := p.Handler == "" && p.Post == "" && p.Fault == "" && p.Entry == ""
	for _, k := range []struct {
		key  string
		kind kprobes.Kind
		set  bool
		text string
	}{
		{workloads.KeyPre, kprobes.Kprobe, r.Has(workloads.KeyPre), "only a kprobe has a pre-handler of its own"},
		{workloads.KeyPost, kprobes.Kprobe, p.Post != "", "only a kprobe has a post handler"},
		{workloads.KeyFault, kprobes.Kprobe, p.Fault != "", "only a kprobe has a fault handler"},
		{workloads.KeyEntry, kprobes.Kretprobe, p.Entry != "", "only a kretprobe has an entry handler"},
		{"maxactive", kprobes.Kretprobe, p.MaxActive != 0, "only a kretprobe has instances"},
		{"data_size", kprobes.Kretprobe, p.DataSize != 0, "only a kretprobe has private data"},
	} {
		if k.set && p.Kind != k.kind {
			r.Errorf(k.key, "%s", k.text)
		}
	}
	if none {
		r.Errorf(workloads.KeyHandler, "no handler: name one, such as \"empty\"")
	}
}
