package main

import (
	"strings"
	"testing"
)

// TestTraceShowsEveryStep looks for the stations of each kind of hit, in their order.
func TestTraceShowsEveryStep(t *testing.T) {
	breakpoint := []string{"int3", "#BP", "rdmsr", "do_int3", "notify_die", "kprobe_handler", "handler_empty", "iretq", "__slots_start+0x0"}
	single := append(append([]string(nil), breakpoint...), "#DB", "rdmsr", "do_debug", "notify_die", "iretq", "bench_target+0x5")
	boosted := append(append([]string(nil), breakpoint...), "jmpq", "bench_target+0x5")
	optimized := []string{"bench_target+0x0", "jmpq", "pushfq", "optimized_callback", "opt_pre_handler", "handler_empty", "popfq", "jmpq", "bench_target+0x5"}
	back := []string{"kretprobe_trampoline", "trampoline_handler", "ret_empty", "popfq", "retq"}
	for point, want := range map[string][]string{
		"k": single, "b": boosted, "o": optimized,
		"r": append(without(single), back...), "rb": append(without(boosted), back...), "ro": append(without(optimized), back...),
	} {
		code, stdout, stderr := command(nil, "trace", experiment, "--point", point)
		if code != exitOK {
			t.Fatalf("%s: exit code %d: %s", point, code, stderr)
		}
		rest := stdout
		for _, w := range want {
			_, after, found := strings.Cut(rest, w)
			if !found {
				t.Errorf("%s: %q is not behind what came before", point, w)
				break
			}
			rest = after
		}
	}
}

// without replaces the kprobe's handler by that of a kretprobe.
func without(stations []string) []string {
	var out []string
	for _, s := range stations {
		if s == "handler_empty" {
			s = "pre_handler_kretprobe"
		}
		out = append(out, s)
	}
	return out
}

func TestTraceHit(t *testing.T) {
	_, warm, _ := command(nil, "trace", experiment, "--point", "k")
	_, cold, _ := command(nil, "trace", experiment, "--point", "k", "--cold")
	_, third, _ := command(nil, "trace", experiment, "--point", "k", "--hit", "3")
	if warm == cold || warm == "" || cold == third || !strings.Contains(cold, "icache") {
		t.Error("the cold hit does not differ from the warm one")
	}
}
