package workloads

import (
	"debug/elf"
	"testing"

	"kprobesim/internal/require"
)

// Every handler that experiments can name is a function of every image whose kernel has such probes, and a word
// means one of them.
func TestHandlers(t *testing.T) {
	seen := map[string]bool{}
	for _, h := range Handlers() {
		for _, word := range []string{h.Short, h.Name} {
			got, ok := HandlerNamed(h.Kind, h.Key, word)
			require.That(t, ok && got == h, "%s %s %q is %+v", h.Kind, h.Key, word, got)
			key := h.Kind + " " + h.Key + " " + word
			require.That(t, !seen[key], "%s is there twice", key)
			seen[key] = true
		}
	}
	if _, ok := HandlerNamed("kprobe", KeyPost, "handler_empty"); ok {
		t.Error("a pre-handler is no post handler")
	}
	eachImage(t, func(t *testing.T, im Image, f *elf.File) {
		syms := symbolsOf(t, f)
		jprobes := hasJprobes(im)
		for _, h := range Handlers() {
			if h.Kind == "jprobe" && !jprobes {
				_, ok := syms[h.Name]
				require.That(t, !ok, "the kernel has no jprobes, and the image has %s", h.Name)
				continue
			}
			s, ok := syms[h.Name]
			require.That(t, ok && elf.ST_TYPE(s.Info) == elf.STT_FUNC, "the image has no function %s", h.Name)
		}
	})
}

// hasJprobes reports whether the image's kernel has jprobes: Linux removed them in 4.19.
func hasJprobes(im Image) bool { return im.Era < "2018" }
