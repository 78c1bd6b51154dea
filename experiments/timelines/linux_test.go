package timelines

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/planning"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// TestPrograms shows tasks of a packaged kernel by their names, what they have it do, and each entry of an attached program.
func TestPrograms(t *testing.T) {
	const what = "the timeline of a program under a packaged kernel"
	hosttools.Kernels(t, "vmlinuz*-amd64", what)
	p := require.Must(planning.NewLoader().Plan("linux-workload", []string{
		`workload.command=["/bin/busybox", "sh", "-c", "kprobesim mark begin; dd if=/dev/zero of=/tmp/file bs=512 count=20 2>/dev/null; kprobesim mark end"]`,
	}))(t)
	if p.Lacking != nil {
		hosttools.Missing(t, what, p.Lacking.Error())
	}
	var b bytes.Buffer
	require.NoError(t, Write(require.Must(p.Point("kprobe"))(t), &b))
	count, tasks := map[string]int{}, []string{}
	for _, e := range decodeTimeline(t, b.Bytes()) {
		count[e.kind+" "+e.name]++
		if e.what == toldBegin && (e.kind == onUser || e.kind == onTask) {
			tasks = append(tasks, e.name)
		}
	}
	require.Equal(t, count["probe program count"], 21, "entries of the program")
	require.That(t, count["kernel entry_SYSCALL_64"] > 40 && count["kernel asm_exc_page_fault"] > 10, "system calls and faults: %v", count)
	order := strings.Join(slices.Compact(tasks), " ")
	require.That(t, tasks[0] == "what ran before" && strings.Contains(order, "busybox dd"), "tasks %s", order)
}
