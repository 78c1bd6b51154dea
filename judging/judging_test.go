package judging

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/native"
	"kprobesim/internal/require"
)

// asTimer is the variable of the environment that makes this test the process which times code.
const asTimer = "KPROBESIM_TEST_TIMES_CODE"

func TestMain(m *testing.M) {
	if os.Getenv(asTimer) != "" {
		if err := native.Serve(os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	_ = os.Setenv(asTimer, "1") // for the processes that tests start
	os.Exit(m.Run())
}

// thisHost starts a timer, or says that there is none.
func thisHost(t *testing.T) *Host {
	t.Helper()
	h, err := NewHost()
	if err != nil {
		hosttools.Unable(t, "timing code on the host", err.Error())
	}
	t.Cleanup(h.Close)
	return h
}

// patient asks a host a few times, as long as it is busy.
func patient(h *Host, code []byte, pages ...uint64) (v float64, err error) {
	for range 100 {
		if v, err = h.Cycles(code, pages); err != ErrBusy {
			return v, err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return v, err
}

// Chains of additions and multiplications are the same on every processor since 2008: a cycle, and three.
func TestHostTimesChains(t *testing.T) {
	h := thisHost(t)
	for _, c := range []struct {
		name string
		code []byte
		want float64
	}{
		{"add %rbx,%rax", []byte{0x48, 0x01, 0xd8}, 1},
		{"imul %ebx,%eax", []byte{0x0f, 0xaf, 0xc3}, 3},
	} {
		// A neighbour on the core makes one time wrong now and then, but not each of them.
		var got []float64
		right := false
		for !right && len(got) < 20 {
			v, err := patient(h, c.code)
			require.NoError(t, err)
			got = append(got, v)
			right = math.Abs(v-c.want) <= 0.02*c.want
		}
		require.That(t, right, "%s: %.3f cycles; want %.0f", c.name, got, c.want)
	}
}

// A block that faults is reported, and the next one is timed all the same.
func TestHostSurvivesFaults(t *testing.T) {
	h := thisHost(t)
	for code, want := range map[string]error{"\x8b\x07": native.ErrFault, "\x0f\x0b": native.ErrFault, "\xeb\xfe": native.ErrForever} {
		if want == native.ErrForever && !hosttools.Whole(t, "a block that never ends on the host", "blocks that fault") {
			continue
		}
		_, err := h.Cycles([]byte(code), nil)
		require.That(t, strings.Contains(fmt.Sprint(err), want.Error()), "% x: %v; want %v", code, err, want)
		_, err = patient(h, []byte{0x90})
		require.That(t, err == nil, "behind % x: %v", code, err)
	}
	if _, err := h.Cycles([]byte{0x90}, []uint64{0}); err != native.ErrPage {
		t.Errorf("page 0: %v; want %v", err, native.ErrPage)
	}
}

// TestProgramsFindChains has a program for each chain that faults if the address of the chain is not where programs look for it,
// or no memory is there.
func TestProgramsFindChains(t *testing.T) {
	h := thisHost(t)
	job := &native.Job{Control: control, Passes: 1, Repeats: 1}
	for i := range 3 {
		c := native.Chain{At: 1<<32 + uint64(i)<<24, Size: pageSize, Step: 64}
		code := binary.LittleEndian.AppendUint64([]byte{0x48, 0xa1}, control+128+8*uint64(i)) // movabs, to %rax
		code = binary.LittleEndian.AppendUint64(append(code, 0x48, 0xb9), c.At)               // mov $,%rcx
		code = append(code, 0x48, 0x39, 0xc8, 0x74, 2, 0x0f, 0x0b, 0x48, 0x8b, 0, 0xc3)       // cmp; je; ud2; mov (%rax),%rax; ret
		job.Chains, job.Programs = append(job.Chains, c), append(job.Programs, code)
	}
	require.NoError(t, require.Err(h.timer.Time(job)))
}

// TestRelaxations holds that each limit which is taken away is none behind it.
func TestRelaxations(t *testing.T) {
	c := cpus.Config{
		Events: map[string]clock.Ticks{}, Classes: map[string]cpus.Cost{"a": {Latency: 3, Latency2: 2, Issue: 4, Slots: 3, Occupancy: 5, Unit: "u"}},
		Ports: map[string]clock.Ticks{"p": 3}, Pipes: map[string][]string{"q": {"p"}}, Width: 3, Window: 4, StoreBuffer: 5,
		FrontEnd: cpus.FrontEnd{FetchBytes: 16, Decoders: 4, ComplexFirst: true},
	}
	c.BackEnd.On, c.BackEnd.Retire, c.BackEnd.StorePairs, c.BackEnd.StoreQueue, c.BackEnd.MissBuffers = true, 4, true, true, 3
	c.OpCache = cpus.OpCache{Sets: 2, Ways: 2, Uops: 6}
	limits := []string{"store_forward", "modify_forward", "stack_forward", "store_commit", "load_use", "mispredict", "taken_branch", "split_line"}
	for _, n := range limits {
		c.Events[n] = 9
	}
	for _, r := range relaxations(&c) {
		r.relax(&c)
	}
	for _, n := range limits {
		require.Equal(t, c.Events[n], 0, "%s still costs", n)
	}
	want := cpus.Config{
		Events: c.Events, Classes: map[string]cpus.Cost{"a": {Issue: 1, Slots: 1}}, Ports: map[string]clock.Ticks{"p": 1}, Pipes: map[string][]string{},
		Width: cpus.MaxWidth, Window: cpus.MaxWindow, StoreBuffer: 1024,
	}
	want.BackEnd.On = true
	require.That(t, reflect.DeepEqual(c, want), "%+v; want %+v", c, want)
}

func TestKendall(t *testing.T) {
	// The pairs of neighbours of the textbook: one exchange in four, then with ties in one of them.
	for _, c := range []struct {
		pairs []pair
		want  float64
	}{
		{[]pair{{1, 1}, {2, 2}, {3, 4}, {4, 3}}, 4. / 6},
		{[]pair{{1, 4}, {2, 3}, {3, 2}, {4, 1}}, -1},
		{[]pair{{1, 1}, {1, 2}, {2, 3}}, 2 / math.Sqrt(2*3)},
		{[]pair{{1, 1}, {1, 1}, {2, 3}}, 1},
		{[]pair{{1, 1}, {1, 2}}, 0},
	} {
		got := kendall(c.pairs)
		require.That(t, !(math.Abs(got-c.want) > 1e-9), "%v: %v, want %v", c.pairs, got, c.want)
	}
}

func TestReadMeasured(t *testing.T) {
	blocks := require.Must(ReadMeasured(strings.NewReader("# a list\n\n4801d8,100\n0fb60f4801c875f0, 250.5\nf00fb10f,2000\n"), "list"))(t)
	var got []string
	for _, b := range blocks {
		got = append(got, fmt.Sprintf("%x %s %d %.3f", b.Code, b.Class, b.Length, b.Native))
	}
	want := []string{"4801d8 integer 1 1.000", "0fb60f4801c87500 branch 3 2.505", "f00fb10f  0 20.000"}
	require.That(t, slices.Equal(got, want), "%q; want %q", got, want)
	for _, bad := range []string{"4801d8", "48x,1", "48,", "48,-1", "48,nan", "48,inf"} {
		_, err := ReadMeasured(strings.NewReader("\n"+bad), "list")
		require.That(t, err != nil && strings.HasPrefix(err.Error(), "list:2: "), "%q: %v; want a message with the line", bad, err)
	}
	long := "#" + strings.Repeat("x", 1<<20-2)
	require.NoError(t, require.Err(ReadMeasured(strings.NewReader(long+"\n"), "list")))
	require.Error(t, require.Err(ReadMeasured(strings.NewReader(long+"xx\n"), "list")), "too long", "a line of more than a MiB")
}

// Bad executables have a message each, and good ones give other blocks by another seed alone.
func TestCutter(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{"": "file is empty", "text": "no ELF file", "\x7fELF": "truncated"} {
		file := dir + "/x"
		require.NoError(t, os.WriteFile(file, []byte(name), 0o600))
		require.Error(t, require.Err(NewCutter([]string{file}, 1)), want, "%q", name)
	}
	self := require.Must(os.Executable())(t)
	draw := func(seed uint64) (all []string) {
		c, err := NewCutter([]string{self}, seed)
		if err != nil {
			hosttools.Unable(t, "cutting blocks", err.Error())
		}
		for range 50 {
			b := c.Next()
			all = append(all, string(b.Code))
			require.That(t, b.Length >= fewest && b.Length <= most && slices.Contains(Classes, b.Class), "%+v", b)
		}
		return all
	}
	if a, b := draw(1), draw(1); !slices.Equal(a, b) {
		t.Error("the same seed gives other blocks")
	}
	if a, b := draw(1), draw(2); slices.Equal(a, b) {
		t.Error("another seed gives the same blocks")
	}
}

// A context that is done ends a judgement with what there is.
func TestRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	j := &Judging{}
	if v, err := j.Run(ctx, 5, nil); err == nil || len(v.Blocks) != 0 {
		t.Errorf("%v, %v", v, err)
	}
}
