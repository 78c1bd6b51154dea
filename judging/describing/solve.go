package describing

import (
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"kprobesim/cpus/x86"
	"kprobesim/judging"
)

// loop is a loop that one number decides.
type loop struct {
	Key  string // the table of the number
	What string // the number: a key of the table, or "rate" for the one that bounds how often an instruction starts
	Text string // the copy, for people
	Code string
}

//go:embed loops.json
var loopsJSON []byte

// loops reads the list.
func loops() (all []loop) {
	if err := json.Unmarshal(loopsJSON, &all); err != nil {
		panic(err) // the file is ours
	}
	return all
}

// How near the model must come to the host, as a share of the time or in cycles.
const (
	explained = 0.02
	least     = 0.02
)

// deferred is a number of cores alone that leave constants to those who read them. The flags of small are then computed by
// themselves. lateFlags is one of those alone that name the operations whose flags are late, and longer is known of those that
// have it: on others the loop says when the store is in the cache.
const deferred, small, lateFlags, longer = "deferred", "cost.alu_imm_small", "late_flags", "event.forward_longer"

// instructions runs the loops of the list.
func (d *Describer) instructions() error {
	for _, l := range loops() {
		if !d.knows(l) {
			continue
		}
		if err := d.explain(l); err != nil {
			return fmt.Errorf("%s (%s): %w", l.Key, l.Text, err)
		}
	}
	return nil
}

// knows reports whether the description may have the number of a loop.
func (d *Describer) knows(l loop) bool {
	switch {
	case l.What == lateFlags:
		return d.node("back_end", lateFlags) != nil
	case l.Key == longer:
		return d.node(strings.Split(longer, ".")...) != nil
	}
	return l.What != deferred && l.Key != small || d.node("back_end", "defers") != nil
}

// time times a copy on the host.
func (d *Describer) time(code []byte, pages []uint64) (v float64, err error) {
	return d.again(func() (float64, error) { return d.Host.Cycles(code, pages) })
}

// How often a busy host is given some time: for one loop, and for all of them, which together are some three minutes.
const tries, mostWaits = 20, 1000

// again gives a busy host some time.
func (d *Describer) again(measure func() (float64, error)) (v float64, err error) {
	for range tries {
		if v, err = measure(); !errors.Is(err, judging.ErrBusy) || d.waits == mostWaits {
			break
		}
		d.waits++
		time.Sleep(100 * time.Millisecond)
	}
	return v, err
}

// How often something is timed again behind the last time that was shorter by more than a share, and how often in all.
const (
	repeats, mostRepeats = 3, 12
	shorter              = 1.02
)

// shortest is again at several moments: the shortest time counts, because what else a host does makes a time longer. It ends when some moments
// in a row made it no shorter.
func (d *Describer) shortest(measure func() (float64, error)) (best float64, err error) {
	best = math.Inf(1)
	for n, since := 0, 0; n < mostRepeats && since <= repeats; n++ {
		v, err := d.again(measure)
		switch {
		case errors.Is(err, judging.ErrBusy) && n > 0:
			return best, nil
		case err != nil:
			return v, err
		}
		if since++; v < best/shorter {
			since = 1
		}
		best = min(best, v)
	}
	return best, nil
}

// price is the time of a copy under the description as it is.
func (d *Describer) price(code []byte, pages []uint64) (float64, error) {
	m, err := d.Read(d.Root)
	if err != nil {
		return 0, err
	}
	return judging.NewPricer(&m.CPU).Cycles(code, pages)
}

// explain has the description explain a loop.
func (d *Describer) explain(l loop) error {
	code, err := hex.DecodeString(l.Code)
	if err != nil {
		return err
	}
	m, err := d.Read(d.Root)
	if err != nil {
		return err
	}
	pages, err := judging.NewPricer(&m.CPU).Pages(code)
	if err != nil {
		return err
	}
	v, err := d.time(code, pages)
	if err != nil {
		return d.open(fmt.Sprintf("%s (%s)", l.Key, l.Text), err)
	}
	p, err := d.price(code, pages)
	if err != nil {
		return err
	}
	if !near(p, v) { // another moment may explain it
		u, err := d.shortest(func() (float64, error) { return d.Host.Cycles(code, pages) })
		if err != nil {
			return d.open(fmt.Sprintf("%s (%s)", l.Key, l.Text), err)
		}
		v = min(v, u)
	}
	how := fmt.Sprintf("%s, %.2f cycles", l.Text, v)
	table := strings.Split(l.Key, ".")
	if near(p, v) {
		if d.node(table...) != nil {
			d.source(how, table...)
		}
		d.Rows = append(d.Rows, Row{Key: l.Key, Loop: l.Text, Measured: v, Explained: p})
		return nil
	}
	return d.solve(l, code, pages, v, p, how)
}

// near reports whether a price explains a time.
func near(price, time float64) bool { return math.Abs(price-time) <= max(explained*time, least) }

// solve looks for the number that explains a loop, and leaves the table as it was where there is none.
func (d *Describer) solve(l loop, code []byte, pages []uint64, want, was float64, how string) error {
	before := d.Root.Clone()
	table := strings.Split(l.Key, ".")
	if !d.own(table) {
		return d.open(fmt.Sprintf("%s: %s takes %.2f cycles, priced %.2f: its price is another's", l.Key, l.Text, want, was), nil)
	}
	row := Row{Key: l.Key, Loop: l.Text, Measured: want, Explained: was}
	kept := d.Root.Clone()
	for _, key := range d.keys(l.What, table) {
		d.Root = kept.Clone()
		if !d.mayHave(append(table, key)) {
			continue
		}
		row.Before = d.text(append(table, key)...)
		look := d.search
		if key == "port" {
			look = d.searchPort
		}
		p, err := look(append(table, key), code, pages, want)
		if err != nil {
			return err
		}
		if near(p, want) {
			row.Key, row.Now, row.Explained = l.Key+"."+key, d.text(append(table, key)...), p
			d.source(how, table...)
			d.Rows = append(d.Rows, row)
			return nil
		}
	}
	d.Root = before
	return d.open(fmt.Sprintf("%s: %s takes %.2f cycles, priced %.2f: no value explains it", l.Key, l.Text, want, was), nil)
}

// own gives a form that inherits its price a table of its own. It reports false where the number is tied to another one.
func (d *Describer) own(table []string) bool {
	if n := d.node(table...); n != nil {
		return n.Get("same_as") == nil
	}
	for from := x86.ISA64().Inherited[table[1]]; from != ""; from = x86.ISA64().Inherited[from] {
		if n := d.node(table[0], from); n != nil {
			d.set(n, table...)
			return true
		}
	}
	return false
}

// mayHave tells whether the description can have a number.
func (d *Describer) mayHave(path []string) bool {
	before := d.Root.Clone()
	defer func() { d.Root = before }()
	if path[len(path)-1] == "port" {
		return true // it is no number
	}
	d.set(integer(1), path...)
	_, err := d.Read(d.Root)
	return err == nil
}

// keys are the numbers of a table that may explain a loop, the likeliest first.
func (d *Describer) keys(what string, table []string) []string {
	if what != "rate" {
		return []string{what}
	}
	n := d.node(table...)
	if n.Get("issue") != nil {
		return []string{"issue"}
	}
	if n.Get("port") != nil || n.Get("unit") != nil {
		return []string{"occupancy", "uops"}
	}
	return []string{"port", "uops"}
}

// searchPort gives a class that has no port each of the ports, until one explains a loop.
func (d *Describer) searchPort(path []string, code []byte, pages []uint64, want float64) (p float64, err error) {
	for _, f := range d.node("port").Fields {
		d.set(text(f.Key), path...)
		if p, err = d.price(code, pages); err != nil || near(p, want) {
			break
		}
	}
	return p, err
}

// mostOperations bounds the operations that are tried. What would be more is slow for another reason.
const mostOperations = 4

// search sets a number so that the price comes nearest to what is wanted, and returns the price. A price rises with its number.
func (d *Describer) search(path []string, code []byte, pages []uint64, want float64) (p float64, err error) {
	try := func(v float64) float64 {
		d.set(number(v), path...)
		if err == nil {
			p, err = d.price(code, pages)
		}
		return p
	}
	unit := 60.0
	if path[len(path)-1] == "uops" {
		unit = 1
	}
	low, high := 0.0, math.Ceil(want+1)*unit // what takes longer than the copy is not what the copy waits for
	if unit == 1 {
		low, high = 1, mostOperations
	}
	for high-low > 1 && err == nil {
		middle := math.Floor((low + high) / 2)
		if try(middle/unit) < want {
			low = middle
		} else {
			high = middle
		}
	}
	return d.simplest(try, low/unit, high/unit, want), err
}

// simplest sets the number of the smallest denominator that explains a loop, or else the nearest one.
func (d *Describer) simplest(try func(float64) float64, low, high, want float64) float64 {
	for _, den := range []float64{1, 2, 3, 4, 6} {
		for _, v := range []float64{math.Round(low*den) / den, math.Floor(low*den) / den, math.Ceil(high*den) / den} {
			if v > 0 || low == 0 {
				if p := try(v); near(p, want) {
					return p
				}
			}
		}
	}
	a, b := try(low), 0.0
	if b = try(high); math.Abs(a-want) < math.Abs(b-want) {
		return try(low)
	}
	return b
}
