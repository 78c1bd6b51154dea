package kprobes

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/sim"
	"kprobesim/smp"
)

// One optimization on four busy CPUs takes the steps of the specification in their order: the wish,
// a grace period that every CPU takes part in, the patch with every CPU synchronizing, the jump.
func TestOrderOfAnOptimization(t *testing.T) {
	const cpus = 4
	sync := slices.Repeat([]string{"sync"}, cpus)
	behind := slices.Concat([]string{"patch breakpoint"}, sync, []string{"patch tail"}, sync,
		[]string{"patch first"}, sync)
	stopped := slices.Concat([]string{"stop prepare", "stop disable-irq", "stop run", "patch whole", "stop exit"}, sync)
	steps := map[string][]string{
		PatchStop: stopped, PatchStopEach: stopped,
		PatchBreakpoint: behind, PatchBatch: behind, PatchStore: {"patch whole"},
	}
	for protocol, patch := range steps {
		o := Default()
		o.Patching = protocol
		bootAll(t, "", cpus, o, func(w *crowd) {
			want := slices.Concat([]string{"probe optimizing", "grace-begin sched"},
				slices.Repeat([]string{"quiescent sched"}, cpus),
				[]string{"grace-end sched"}, patch, []string{"probe optimized"})
			w.do(w.k.WaitOptimizer(w.Call)) // of probes that the kernel has for itself
			w.begin("work_frame", w.call("work_frame", 5, 77))
			w.sleep(2)
			log := w.watchOne()
			begin := w.smp.Jiffies()
			p := value(w.k.Add(w.Call, Spec{Symbol: "bench_target"}))(w)
			for !log.done {
				w.sleep(1)
			}
			took := w.smp.Jiffies() - begin
			require.That(t, took >= o.Delay, "%s: optimized after %d jiffies, want at least %d", protocol, took, o.Delay)
			w.end()
			require.That(t, slices.Equal(log.events, want), "%s: events\n%s\nwant\n%s", protocol, strings.Join(log.events, "\n"), strings.Join(want, "\n"))
			require.That(t, log.err == nil, "%s: %v", protocol, log.err)
			log.on = true
			for _, spec := range []Spec{{Post: "post_empty"}, {Kind: Jprobe, Handler: "jprobe_arguments"}} { // the second finds no jump
				log.events, spec.Symbol = nil, "bench_target"
				q, err := w.k.Add(w.Call, spec)
				require.That(t, !slices.Contains(log.events, "grace-begin sched") && w.state(p).Mode != Optimized, "%s: %+v comes by %q", protocol, spec, log.events)
				if err == nil { // later kernels have no jprobes
					defer w.remove(q)
				}
			}
			w.remove(p)
		})
	}
}

// stepLog collects the events of one optimization, from the wish to the jump.
type stepLog struct {
	events []string
	on     bool
	done   bool
	patch  uint64
	synced []int // CPUs that have synchronized since the last step
	err    error
}

func (w *crowd) watchOne() *stepLog {
	log := &stepLog{}
	w.m.Watch(func(e sim.Event) {
		if e.Kind == EventProbe && e.Name == "optimizing" {
			log.on = true
		}
		if log.on {
			log.add(e)
		}
		if e.Kind == EventProbe && e.Name == "optimized" {
			log.on, log.done = false, true
		}
	})
	return log
}

func (log *stepLog) add(e sim.Event) {
	kinds := []sim.EventKind{
		EventProbe, EventPatch, EventSync, smp.EventGraceBegin, smp.EventGraceEnd, smp.EventQuiescent, smp.EventStop,
	}
	if !slices.Contains(kinds, e.Kind) {
		return
	}
	switch e.Kind {
	case EventPatch:
		log.patch, log.synced = e.ID, nil
	case EventSync:
		if e.ID != log.patch || slices.Contains(log.synced, e.CPU) {
			log.err = fmt.Errorf("cpu %d synchronizes for patch %d after %v did for %d", e.CPU, e.ID, log.synced, log.patch)
		}
		log.synced = append(log.synced, e.CPU)
	}
	log.events = append(log.events, strings.TrimSpace(string(e.Kind)+" "+e.Name))
}

// Unregistering many probes in one call takes one grace period.
func TestBatchTakesOneGracePeriod(t *testing.T) {
	bootAll(t, "", 2, boosting(), func(w *crowd) {
		w.begin("bench_target", w.call("bench_target", 5, 77))
		var ps []uint64
		for _, fn := range []string{"bench_target", "work_frame", "work_divide", "work_atomic"} {
			p := value(w.k.Add(w.Call, Spec{Symbol: fn, Handler: "handler_empty"}))(w)
			ps = append(ps, p.Addr)
		}
		periods := 0
		w.m.Watch(func(e sim.Event) {
			if e.Kind == smp.EventGraceBegin {
				periods++
			}
		})
		w.do(w.k.Unregister(w.Call, Kprobe, ps...))
		require.That(t, periods == 1, "%d grace periods for %d probes, want one", periods, len(ps))
		w.end()
		w.holdNothingLeft()
	})
}

// The steps of a registration follow DESIGN.md, in its order, and end the steps of every kind.
func TestStepsOfARegistration(t *testing.T) {
	design := require.Must(os.ReadFile("../DESIGN.md"))(t)
	_, way, _ := strings.Cut(string(design), "### The way of a registration")
	way, _, _ = strings.Cut(way, "\n#")
	var want []string
	for _, m := range regexp.MustCompile("`kprobes\\.Kprobes\\.([a-z]\\w*)`").FindAllStringSubmatch(way, -1) {
		want = append(want, m[1])
	}
	k := newGuest(t, withJprobes(isas()[0]), plain()).k
	for _, kind := range []Kind{Kprobe, Kretprobe, Jprobe} {
		var got []string
		for _, s := range k.kind(kind).steps {
			name := runtime.FuncForPC(reflect.ValueOf(s).Pointer()).Name()
			got = append(got, strings.TrimSuffix(name[strings.LastIndex(name, ".")+1:], "-fm"))
		}
		own := len(got) - len(want)
		require.That(t, own == min(int(kind), 1) && slices.Equal(got[own:], want), "a %s is registered by %q, DESIGN.md has %q", kind, got, want)
	}
}
