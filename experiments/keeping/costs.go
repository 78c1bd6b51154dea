package keeping

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"kprobesim/experiments/schema"
	"kprobesim/results/outdir"
)

// Costs says what points take of the host, by their sort: of those that were measured, and by way of a base that knows other
// sorts. The base need not be of this host: its times are scaled by how the sorts that both know differ.
type Costs struct {
	base  *Costs
	sorts map[string]*Cost
	own   float64 // seconds that were added
	other float64 // and what the base expected of them
}

// Cost sums up what was measured of a sort, or of all sorts whose names begin alike.
type Cost struct {
	Points  int64
	Work    float64 // that schema.Point.Work counts
	Seconds float64 // of a processor
	Squares float64 // of seconds, by work: they give the spread
	Memory  float64 // bytes of the largest process, for each point that it measured at a time
	Results float64 // bytes of files
}

// CostsName is the file in which a run keeps what its points took.
const CostsName = "costs.csv"

//go:embed costs.csv
var shippedCosts []byte

// Shipped are the costs that the program brings. They are the same on every host, so that all hosts part work alike.
func Shipped() *Costs {
	c := NewCosts(nil)
	if err := c.read("costs.csv", shippedCosts); err != nil {
		panic(err) // a test reads it
	}
	return c
}

// NewCosts knows nothing but what a base, which may be nil, knows.
func NewCosts(base *Costs) *Costs { return &Costs{base: base, sorts: map[string]*Cost{}} }

// LoadCosts reads what runs below a directory of results took, beside the shipped costs.
func LoadCosts(out string) (*Costs, error) {
	c := NewCosts(Shipped())
	file := filepath.Join(out, Folder, CostsName)
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = c.read(file, b)
	}
	if err != nil {
		err = fmt.Errorf("%w; remove the file, and runs write it again", err)
	}
	return c, err
}

// costColumns head the file.
const costColumns = "sort,points,work,seconds,squares,memory,results"

func (c *Costs) read(name string, b []byte) error {
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err == nil && (len(rows) == 0 || strings.Join(rows[0], ",") != costColumns) {
		err = fmt.Errorf("does not begin with %s", costColumns)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for i, row := range rows[1:] {
		var n [6]float64
		for j := range n {
			if n[j], err = strconv.ParseFloat(row[j+1], 64); err != nil || !(n[j] >= 0 && n[j] < 1e15) {
				return fmt.Errorf("%s:%d: %q is no number of %s", name, i+2, row[j+1], rows[0][j+1])
			}
		}
		c.add(row[0], Cost{int64(n[0]), n[1], n[2], n[3], n[4], n[5]})
	}
	return nil
}

// Save writes the file below a directory of results.
func (c *Costs) Save(out string) error {
	var b bytes.Buffer
	fmt.Fprintln(&b, costColumns)
	for _, sort := range slices.Sorted(maps.Keys(c.sorts)) {
		if strings.HasSuffix(sort, "/") {
			continue // a sum
		}
		k := c.sorts[sort]
		fmt.Fprintf(&b, "%s,%d,%.0f,%.6g,%.6g,%.0f,%.0f\n", sort, k.Points, k.Work, k.Seconds, k.Squares, k.Memory, k.Results)
	}
	if err := os.MkdirAll(filepath.Join(out, Folder), 0o755); err != nil {
		return err
	}
	return outdir.WriteFile(filepath.Join(out, Folder, CostsName), b.Bytes())
}

// Add notes what a point took of a processor.
func (c *Costs) Add(p *schema.Point, took time.Duration) {
	s, w := took.Seconds(), p.Work()
	c.add(p.Sort(), Cost{Points: 1, Work: w, Seconds: s, Squares: s * s / w})
}

// Reference notes what the work took by which hosts are compared.
func (c *Costs) Reference(took time.Duration) {
	s := took.Seconds()
	c.add(ReferenceSort, Cost{Points: 1, Work: 1, Seconds: s, Squares: s * s})
}

// Results notes what a run took of a processor beside its points, for records, tables, figures and files, and the bytes of the
// files that do not grow with the points.
func (c *Costs) Results(took time.Duration, files float64) {
	s := took.Seconds()
	c.add(resultsSort, Cost{Points: 1, Work: 1, Seconds: s, Squares: s * s, Results: files})
}

// ReferenceSort is the sort of the work by which hosts are compared.
const ReferenceSort = "reference"

// resultsSort has what runs took beside their points.
const resultsSort = "results"

// add adds a cost to a sort, and to the sums of sorts whose names begin alike: they end in a slash.
func (c *Costs) add(sort string, k Cost) {
	if c.base != nil {
		c.own, c.other = c.own+k.Seconds, c.other+c.base.rate(sort).Seconds*k.Work
	}
	for name := sort; ; {
		to := c.sorts[name]
		if to == nil {
			to = &Cost{}
			c.sorts[name] = to
		}
		to.Points, to.Work, to.Seconds, to.Squares = to.Points+k.Points, to.Work+k.Work, to.Seconds+k.Seconds, to.Squares+k.Squares
		to.Memory, to.Results = max(to.Memory, k.Memory), to.Results+k.Results
		if name == "/" {
			return
		}
		name = name[:strings.LastIndexByte(strings.TrimSuffix(name, "/"), '/')+1]
		if name == "" {
			name = "/"
		}
	}
}

// Measured notes memory of points that ran in one process, and the bytes of the files that grow with them.
func (c *Costs) Measured(points []*schema.Point, memory, results float64) {
	for _, p := range points {
		if k := c.sorts[p.Sort()]; k != nil {
			k.Memory, k.Results = max(k.Memory, memory), k.Results+results/float64(len(points))
		}
	}
}

// rate is the cost of a unit of work of a sort: measured, by the base, or of the sorts whose names begin alike the longest.
// Squares is the variance of its seconds. Points and Work stand for nothing.
func (c *Costs) rate(sort string) Cost {
	if k := c.sorts[sort]; k != nil && k.Work > 0 {
		return k.unit()
	}
	if c.base != nil {
		k := c.base.rate(sort)
		if c.other > 0 {
			scale := c.own / c.other
			k.Seconds, k.Squares = k.Seconds*scale, k.Squares*scale*scale
		}
		return k
	}
	for name := sort; name != ""; {
		name = name[:strings.LastIndexByte(strings.TrimSuffix(name, "/"), '/')+1]
		if k := c.sorts[name]; k != nil && k.Work > 0 {
			return k.unit()
		}
	}
	if k := c.sorts["/"]; k != nil && k.Work > 0 {
		return k.unit()
	}
	return Cost{Seconds: 1e-5, Memory: 1 << 25, Results: 4096}
}

func (k *Cost) unit() Cost {
	s := k.Seconds / k.Work
	return Cost{Seconds: s, Squares: max(0, k.Squares/k.Work-s*s), Memory: k.Memory, Results: k.Results / float64(max(1, k.Points))}
}

// Here reports whether points of this host were measured.
func (c *Costs) Here() bool { return c.own > 0 }

// Known reports whether anything is.
func (c *Costs) Known() bool { return len(c.sorts) > 0 || c.base != nil && c.base.Known() }

// Time predicts so much work of a sort, on one core.
func (c *Costs) Time(sort string, work float64) time.Duration {
	return time.Duration(math.Round(c.rate(sort).Seconds * work * float64(time.Second)))
}

// Expect is the time of a processor that a point takes.
func (c *Costs) Expect(p *schema.Point) time.Duration { return c.Time(p.Sort(), p.Work()) }

// Forecast predicts a run of points.
type Forecast struct {
	Points    int
	Processor time.Duration // of one core
	Spread    time.Duration // of Processor: one standard deviation, as if all points of a sort missed alike
	Longest   time.Duration // of a point
	Machine   float64       // bytes of the largest point
	Results   float64       // bytes of files
}

// Forecast sums up what points take.
func (c *Costs) Forecast(points []schema.Point) (f Forecast) {
	for i := range points {
		p := &points[i]
		k, w := c.rate(p.Sort()), p.Work()
		took := time.Duration(k.Seconds * w * float64(time.Second))
		f.Points++
		f.Processor += took
		f.Spread += time.Duration(math.Sqrt(k.Squares) * w * float64(time.Second))
		f.Longest, f.Machine, f.Results = max(f.Longest, took), max(f.Machine, k.Memory), f.Results+k.Results
	}
	f.Processor += c.Time(resultsSort, 1)
	f.Results += c.rate(resultsSort).Results
	return f
}

// perPoint is about what a run has in memory of each point beside the machines that measure, in bytes: its plan, its
// records and their forms in files, and as much again until the runtime collects it. Runs of 204 and of 20,004 points differed by
// 13.7 kB a point.
const perPoint = 14 << 10

// Ballast is how far the garbage of the program may grow beside as much as is live, in bytes.
const Ballast = 96 << 20

// ProgramMemory is the memory of the program itself and its garbage, in bytes.
const ProgramMemory = 40<<20 + Ballast

// Wall is the time of a run with so many workers.
func (f Forecast) Wall(workers int) time.Duration {
	return max(f.Longest, f.Processor/time.Duration(max(1, min(workers, f.Points))))
}

// Memory is the peak of a run with so many workers, in bytes.
func (f Forecast) Memory(workers int) float64 {
	return ProgramMemory + float64(min(workers, f.Points))*f.Machine + perPoint*float64(f.Points)
}

// perShard is about the time that a shard is to take: long beside the planning that every shard does, and short beside what is
// lost with a node.
const perShard = 10 * time.Minute

// Shards is a number of shards for the points.
func (f Forecast) Shards() int {
	return int(max(1, min(f.Processor/perShard+1, time.Duration(f.Points), mostTasks)))
}

// mostTasks is the number of tasks that clusters take in one array when nothing else is configured.
const mostTasks = 1000
