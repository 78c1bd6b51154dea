package keeping

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/iotest"
	"time"

	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/machines"
	"kprobesim/targets"
)

// Every piece is in one shard, whatever their number and order, and costs of shards differ by a piece at most.
func TestPart(t *testing.T) {
	var pieces []Load
	total := int64(0)
	for i := range 197 {
		cost := int64(i%17) * 1e9
		pieces, total = append(pieces, Load{sha256.Sum256([]byte{byte(i), byte(i >> 8)}), cost}), total+max(1, cost)
	}
	turned := slices.Clone(pieces)
	slices.Reverse(turned)
	for _, n := range []int{1, 2, 3, 40, 196, 300} {
		seen := map[int]int{}
		for i := 1; i <= n; i++ {
			mine, cost := Shard{i, n}.Part(pieces), int64(0)
			for _, p := range mine {
				seen[p]++
				cost += max(1, pieces[p].Cost)
			}
			most := total/int64(n) + 16e9
			require.That(t, cost <= most && (n > 40 || cost >= total/int64(n)-16e9), "shard %d of %d costs %d of %d", i, n, cost, total)
			other := Shard{i, n}.Part(turned)
			for j := range other {
				other[j] = len(pieces) - 1 - other[j]
			}
			slices.Sort(other)
			require.That(t, slices.Equal(mine, other), "shard %d of %d follows from the order", i, n)
		}
		require.That(t, len(seen) == len(pieces), "%d of %d pieces in %d shards", len(seen), len(pieces), n)
		for p, times := range seen {
			require.That(t, times == 1, "piece %d is in %d of %d shards", p, times, n)
		}
	}
	require.That(t, len(Shard{}.Part(pieces)) == len(pieces), "the whole is not all")
}

// Combinations of a large sweep are each in one shard, the same number in all of them.
func TestCombinations(t *testing.T) {
	texts := make([]string, 3*manyCombinations+1)
	for i := range texts {
		texts[i] = "/seed=" + strconv.Itoa(i)
	}
	var all []int
	for i := 1; i <= 3; i++ {
		mine := Shard{i, 3}.Combinations(texts)
		require.That(t, len(mine) >= manyCombinations && len(mine) <= manyCombinations+1, "shard %d has %d of %d", i, len(mine), len(texts))
		all = append(all, mine...)
	}
	slices.Sort(all)
	require.That(t, len(slices.Compact(all)) == len(texts), "all shards have %d", len(all))
	for _, s := range []Shard{{}, {1, 4}} {
		mine := s.Combinations(texts)
		require.That(t, mine == nil, "shard %v of a smaller sweep: %v", s, mine)
	}
}

func TestParseShard(t *testing.T) {
	for _, text := range []string{"1/1", "3/40", "40/40"} {
		got := require.Must(ParseShard(text))(t).String()
		require.That(t, got == text, "%s is %s", text, got)
	}
	for _, text := range []string{"", "0/3", "4/3", "1", "1/", "-1/3", "1/2/3", "a/b", "99999999/99999999", "123456789/999999999"} {
		s, err := ParseShard(text)
		require.That(t, err != nil, "%q is %v", text, s)
	}
}

// Sorts that were not measured are predicted by sorts whose names begin alike, and scaled by the host.
func TestCosts(t *testing.T) {
	const head = costColumns + "\n"
	shipped := NewCosts(nil)
	require.NoError(t, shipped.read("x", []byte(head+"a/b/c,2,100,10,1.1,5,8\na/b/d,1,100,30,9,7,8\na/b/none,1,0,0,0,7,8\na/n/,1,0,0,0,7,8\nreference,1,1,2,4,0,0\n")))
	here := NewCosts(shipped)
	for sort, want := range map[string]float64{"a/b/c": 0.1, "a/b/e": 0.2, "a/x/e": 0.2, "a/b/none": 0.2, "a/n/e": 0.2} {
		require.Equal(t, here.rate(sort).Seconds, want, "%s", sort)
	}
	require.That(t, !here.Here(), "points of this host were measured")
	here.Reference(1e9) // twice as fast
	require.Equal(t, here.rate("a/b/c").Seconds, 0.05, "on a faster host")
	here.add("a/b/c", Cost{Points: 1, Work: 10, Seconds: 4, Squares: 1.6})
	require.That(t, here.Here() && here.Known() && shipped.Known() && !NewCosts(nil).Known(), "what is known")
	require.Equal(t, here.rate("a/b/c").Seconds, 0.4, "measured here")
	out := t.TempDir()
	require.NoError(t, here.Save(out))
	above, below := require.Must(os.Stat(out))(t).Mode(), require.Must(os.Stat(filepath.Join(out, Folder)))(t).Mode()
	require.That(t, below == above&^0o022, "a folder with %v in one with %v", below, above)
	again, err := LoadCosts(out)
	if err != nil || again.rate("a/b/c").Seconds != 0.4 {
		t.Errorf("read again: %v, %v", again.rate("a/b/c"), err)
	}
	last := NewCosts(nil)
	require.NoError(t, last.read("x", []byte(head+"x,1,2,3,4,5,6\n")))
	require.Equal(t, *last.sorts["x"], Cost{Points: 1, Work: 2, Seconds: 3, Squares: 4, Memory: 5, Results: 6}, "the columns are")
	for bad, want := range map[string]string{
		"": "x: does not begin with sort,", "x\n": "x: does not begin with sort,", head + "a,1\n": "wrong number of fields",
		head + "a,1,2,x,4,5,6\n": `x:2: "x" is no number of seconds`, head + "a,1,2,3,4,5,6\na,1,2,-3,4,5,6\n": `x:3: "-3" is no number of seconds`,
		head + "a,NaN,2,3,4,5,6\n": `x:2: "NaN" is no number of points`, head + "a,1,2,3,4,5,1e15\n": `x:2: "1e15" is no number of results`,
	} {
		require.Error(t, NewCosts(nil).read("x", []byte(bad)), want, "%q", bad)
	}
	p := &schema.Point{Target: &targets.Target{}, Machine: &machines.Machine{}}
	here.add(p.Sort(), Cost{Points: 1, Work: 1, Memory: 5, Results: 1})
	here.Measured([]*schema.Point{p, p}, 7, 10)
	if k := here.rate(p.Sort()); k.Memory != 7 || k.Results != 11 {
		t.Errorf("two points of 7 bytes of memory and 10 of files: %v", k)
	}
	require.Equal(t, NewCosts(nil).rate("x"), Cost{Seconds: 1e-5, Memory: 32 << 20, Results: 4 << 10}, "where nothing is known")
	if _, err := scan(iotest.ErrReader(fs.ErrClosed), nil); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a log that cannot be read: %v", err)
	}
	foreign := NewCosts(nil)
	foreign.add("a/b", Cost{Points: 1, Work: 4, Seconds: 2})
	require.Equal(t, foreign.rate("x/y").Seconds, 0.5, "the cost of a sort whose name begins as no other")
	none := NewCosts(nil)
	none.add("x", Cost{Points: 1, Seconds: 7})
	require.Equal(t, none.rate("x"), NewCosts(nil).rate("x"), "the cost of what has done no work")
	require.That(t, Shipped().Known(), "the program brings no costs")
}

// TestHeaders reads no header of which a part is missing, and none of another format that is whole.
func TestHeaders(t *testing.T) {
	whole := encode(Key{1}, nil)
	h, ok := readHeader(whole)
	require.That(t, ok && h.Key == (Key{1}), "a header: %+v", h)
	for n := range whole {
		_, ok := readHeader(whole[:n])
		require.That(t, !ok, "%d bytes are a header", n)
	}
	other := bytes.Clone(whole[:headerSize-4])
	other[len(magic)-1]++
	_, ok = readHeader(binary.LittleEndian.AppendUint32(other, crc32.ChecksumIEEE(other)))
	require.That(t, !ok, "a later format is read as this one")
}

// TestForecast sums up what points take that are expected one by one.
func TestForecast(t *testing.T) {
	c := NewCosts(nil)
	c.Results(time.Second, 100)
	points, spread := make([]schema.Point, 3), 0.0
	for i := range points {
		points[i] = schema.Point{Target: &targets.Target{}, Machine: &machines.Machine{}, Kind: fmt.Sprint(i)}
		points[i].Workload.Hits = int64(1000 * i)
		second, deviation := float64(3-i)/100, float64(1+i)/1000 // of a unit of work
		spread += deviation * points[i].Work()
		squares := 100 * (second*second + deviation*deviation)
		c.add(points[i].Sort(), Cost{Points: 1, Work: 100, Seconds: 100 * second, Squares: squares, Memory: float64(7 * i), Results: 10})
	}
	want := Forecast{Points: len(points), Processor: time.Second, Machine: 14, Results: 100}
	for i := range points {
		took := c.Expect(&points[i])
		want.Processor, want.Longest, want.Results = want.Processor+took, max(want.Longest, took), want.Results+10
	}
	got := c.Forecast(points)
	require.That(t, math.Abs(got.Spread.Seconds()/spread-1) < 1e-6, "the spread is %v, want %v s", got.Spread, spread)
	got.Spread = 0
	require.Equal(t, got, want, "the forecast is")
}
