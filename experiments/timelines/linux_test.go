package timelines_test

import (
	"bytes"
	"testing"

	"kprobesim/experiments/planning"
	"kprobesim/experiments/timelines"
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
	require.NoError(t, timelines.Write(require.Must(p.Point("kprobe"))(t), &b))
	for _, want := range []string{"dd", "busybox", "what ran before", "entry_SYSCALL_64", "program count"} {
		require.That(t, bytes.Contains(b.Bytes(), []byte(want)), "no %q", want)
	}
	require.That(t, bytes.Count(b.Bytes(), []byte("0xffffffffc")) == 21, "%d entries, want 21", bytes.Count(b.Bytes(), []byte("0xffffffffc")))
}
