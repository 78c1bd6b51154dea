package engine

import (
	"fmt"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// register is a device that notes accesses and the time that its CPU has then.
type register struct {
	c     *toy
	log   []string
	times []clock.Ticks
}

func (d *register) Load(pa uint64, n int) uint64 {
	d.log, d.times = append(d.log, fmt.Sprintf("load %#x, %d", pa, n)), append(d.times, d.c.Now())
	return 0x12
}

func (d *register) Store(pa uint64, n int, v uint64) {
	d.log, d.times = append(d.log, fmt.Sprintf("store %#x, %d: %#x", pa, n, v)), append(d.times, d.c.Now())
}

// outside is an address that is not RAM.
const outside = 1 << 24

// TestDevices has one instruction access a device, behind others that it must have the times of. What stores, and any access to a port, may bring an
// event nearer: the CPU leaves guest execution behind it, and looks for interrupts.
func TestDevices(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		for _, x := range []struct {
			name   string
			flags  uint16
			access func(c *Core) uint64
			log    string
			exits  bool
			waits  bool // for the bus
		}{
			{"load", Loads, func(c *Core) uint64 { v, _ := Load[uint16](c, outside+2); return uint64(v) }, "[load 0x1000002, 2]", false, true},
			{"store", Stores, func(c *Core) uint64 { Store(c, outside+4, uint32(5)); return 0 }, "[store 0x1000004, 4: 0x5]", true, false},
			{"port in", 0, func(c *Core) uint64 { return c.LoadPort(0x60, 1) }, "[load 0x60, 1]", true, false},
			{"port out", 0, func(c *Core) uint64 { c.StorePort(0x61, 2, 7); return 0 }, "[store 0x61, 2: 0x7]", true, false},
		} {
			for _, there := range []bool{true, false} {
				c := newToy(t, cfg, 1<<20, 0x1000)
				d := &register{c: c}
				if there && x.flags != 0 {
					c.Bus.Device = d
				} else if there {
					c.Bus.Ports = d
				}
				got := uint64(0)
				toyWrite(c, 0x1000, [4]byte{toyAdd, 1, 1, 1}, [4]byte{toyAdd, 1, 1, 1}, c.do(x.flags, func() { got = x.access(&c.Core) }), [4]byte{toyHalt})
				exit := c.Run(soon)
				plain := newToy(t, cfg, 1<<20, 0x1000, [4]byte{toyAdd, 1, 1, 1}, [4]byte{toyAdd, 1, 1, 1}, [4]byte{toyHalt})
				plain.Steps(2, soon)
				left := exit.Reason == cpus.Limit
				require.That(t, left == (there && x.exits) && left == (c.Check&CheckInterrupts != 0), "%s, there %t: left for %v, checks %#x", x.name, there, exit, c.Check)
				require.That(t, left == (c.R[PC] == 0x100c), "%s, there %t: left at %#x", x.name, there, c.R[PC])
				if !there {
					loads := x.name == "load" || x.name == "port in"
					require.Equal(t, got, map[bool]uint64{true: ^uint64(0) >> map[string]int{"load": 48}[x.name]}[loads], "%s of nobody gives", x.name)
					continue
				}
				require.Equal(t, fmt.Sprint(d.log), x.log, "the device is told of")
				require.Equal(t, d.times[0], plain.Now(), "%s: the device sees the time", x.name)
			}
		}
	})
}

// TestDevicePrices has a load wait for the bus as long as for memory. A store is posted: it takes as long as an instruction that stores nothing.
func TestDevicePrices(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		took := func(flags uint16, f func(c *Core)) clock.Ticks {
			c := newToy(t, cfg, 1<<20, 0x1000)
			c.Bus.Device = &register{c: c}
			toyWrite(c, 0x1000, c.do(flags, func() { f(&c.Core) }))
			c.Steps(1, soon)
			c.Advance(1 << 20)
			start := c.Now()
			c.R[PC] = 0x1000
			c.Steps(1, soon)
			return c.Now() - start
		}
		load := func(at uint64) func(c *Core) { return func(c *Core) { Load[uint64](c, at) } }
		require.Equal(t, took(Loads, load(outside))-took(Loads, load(0x8000)), cfg.Memory, "a load from a device takes more by")
		nothing := took(Stores, func(*Core) {})
		require.Equal(t, took(Stores, func(c *Core) { Store(c, outside, uint8(1)) }), nothing, "a store to a device takes")
	})
}

// perPage refuses accesses to pages, all of them or stores.
type perPage struct {
	*toy
	none, readOnly uint64
}

func (p perPage) DataAddress(va uint64, write bool) (uint64, bool) {
	if page := va &^ pageMask; page == p.none || write && page == p.readOnly {
		p.Stop |= StopFault
		return 0, false
	}
	return p.toy.DataAddress(va, write)
}

// TestFaultsComeBeforeEffects has operands that lie in a page which refuses, or reach into one. An exception is pending then, and memory is as
// it was. What is loaded to be written back needs the right to write.
func TestFaultsComeBeforeEffects(t *testing.T) {
	for _, x := range []struct {
		va                  uint64
		load, store, modify bool
	}{
		{0x3000, true, true, true},
		{0x3ffc, true, true, true},
		{0x4000, true, false, false},
		{0x3ffd, true, false, false},
		{0x4ffd, true, false, false},
		{0x6ffe, false, false, false},
		{0x7000, false, false, false},
		{0x7ffe, false, false, false},
	} {
		for _, known := range []bool{false, true} { // whether the micro-TLB has the pages, with the rights that they have
			c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0x1000)
			c.translator = perPage{c, 0x7000, 0x4000}
			for _, page := range []uint64{0x3000, 0x4000, 0x5000, 0x6000, 0x8000} {
				if _, _ = Load[uint8](&c.Core, page); known && page != 0x4000 {
					Store(&c.Core, page, uint8(0))
				}
			}
			put(c.ram, x.va, uint32(0x04030201))
			for what, ok := range map[string]func() bool{
				"load":   func() bool { v, ok := Load[uint32](&c.Core, x.va); return ok && v == 0x04030201 },
				"store":  func() bool { return Store(&c.Core, x.va, uint32(9)) },
				"modify": func() bool { v, ok := LoadForStore[uint32](&c.Core, x.va); return ok && v == 0x04030201 },
			} {
				put(c.ram, x.va, uint32(0x04030201))
				c.Stop = 0
				want := map[string]bool{"load": x.load, "store": x.store, "modify": x.modify}[what]
				require.Equal(t, ok(), want, "%s at %#x, known %t, is done", what, x.va, known)
				require.Equal(t, c.Stop, map[bool]uint32{false: StopFault}[want], "%s at %#x, known %t: stops for", what, x.va, known)
				if what == "store" && !want {
					require.Equal(t, get[uint32](c.ram, x.va), 0x04030201, "a store at %#x that is refused leaves", x.va)
				}
			}
		}
	}
}

// watcher refuses accesses to one byte, and notes what it is asked of.
type watcher struct {
	*toy
	log    []string
	refuse uint64
}

func (w *watcher) Watch(va uint64, n int, write bool) bool {
	w.log = append(w.log, fmt.Sprintf("%#x %d %t", va, n, write))
	if va <= w.refuse && w.refuse < va+uint64(n) {
		w.Stop |= StopFault
		return false
	}
	return true
}

// TestWatchedStoresOfTwoPages has a watchpoint refuse a part of a store: no byte of it is written. Addresses wrap at the end of the address space.
func TestWatchedStoresOfTwoPages(t *testing.T) {
	for _, x := range []struct {
		va, watched uint64
		mask        uint64
	}{{0x3ffe, 0x3ffe, ^uint64(0)}, {0x3ffe, 0x3fff, ^uint64(0)}, {0x3ffe, 0x4001, ^uint64(0)}, {0xffffe, 0, 0xfffff}} {
		c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0x1000)
		c.AddrMask = x.mask
		w := &watcher{toy: c, refuse: x.watched}
		c.translator = w
		c.WatchData([][2]uint64{{x.watched, x.watched + 1}})
		stored := Store(&c.Core, x.va, uint32(0x04030201))
		for i := range uint64(4) {
			at := (x.va + i) & x.mask
			require.Equal(t, get[uint8](c.ram, at), 0, "%+v: a byte at %#x is", x, at)
		}
		require.That(t, !stored && c.Stop == StopFault, "%+v: a store that a watchpoint refuses is made", x)
		w.refuse, c.Stop = 1<<40, 0
		require.That(t, Store(&c.Core, x.va, uint32(0x04030201)) && c.Stop == 0, "%+v: a store that a watchpoint allows is refused", x)
	}
}

// TestWatchedData asks the instruction set of accesses to a page with watched bytes, every time, and of no others.
func TestWatchedData(t *testing.T) {
	c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0x1000)
	w := &watcher{toy: c, refuse: 1 << 40}
	c.translator = w
	access := func() string {
		w.log = nil
		for _, at := range []uint64{0x2ff8, 0x3000, 0x3800, 0x4010, 0x5000} {
			Load[uint32](&c.Core, at)
		}
		Store(&c.Core, 0x3000, uint8(1))
		return fmt.Sprint(w.log)
	}
	for _, x := range []struct {
		spans [][2]uint64
		want  []string
	}{
		{nil, nil},
		{[][2]uint64{{0x3ffc, 0x4004}}, []string{"0x3000 4 false", "0x3800 4 false", "0x4010 4 false", "0x3000 1 true"}},
		{[][2]uint64{{0x2ffc, 0x3000}}, []string{"0x2ff8 4 false"}},
		{[][2]uint64{{0x5000, 0x5001}, {0x2000, 0x2001}}, []string{"0x2ff8 4 false", "0x5000 4 false"}},
		{nil, nil},
	} {
		c.WatchData(x.spans)
		for range 2 { // not only the first time
			require.Equal(t, access(), fmt.Sprint(x.want), "watching %x, accesses that are asked for are", x.spans)
		}
	}
}

// TestSplitPrices has accesses lie in two lines and in two pages. The step that makes one says what that took.
func TestSplitPrices(t *testing.T) {
	cfg := toyConfig(cpus.Window, 64)
	cfg.Events["split_line"], cfg.Events["split_page"] = 7000, 33000
	for _, x := range []struct {
		op   uint8
		at   uint64
		want clock.Ticks
	}{
		{toyLoad, 0x8000, 0},
		{toyLoad, 0x803c, 7000},
		{toyLoad, 0x8ffc, 7000},
		{toyStore, 0x8000, 0},
		{toyStore, 0x803c, 7000},
		{toyStore, 0x8ffc, 33000},
	} {
		c := newToy(t, cfg, 1<<20, 0x1000, [4]byte{x.op, 1, 20, 0}, [4]byte{toyHalt})
		c.R[20] = x.at
		c.goFrom(0x1000)
		var seen steps
		c.Observe(&seen)
		c.goFrom(0x1000)
		require.Equal(t, seen[0].Stalls.Split, x.want, "operation %d at %#x: split takes", x.op, x.at)
	}
}

// TestLockedOperandsComeOnce has a read-modify-write of a line that another CPU has written. A locked one takes the line before it reads; another one
// pays for its read and its write.
func TestLockedOperandsComeOnce(t *testing.T) {
	for _, x := range []struct {
		flags               uint16
		transfers, upgrades uint64
	}{{Loads | Stores | Locked, 1, 0}, {Loads | Stores, 1, 1}} {
		for _, at := range []uint64{0x8000, 0x803c, 0x8ffc} { // in a line, in two lines, in two pages
			lines := uint64(1 + at>>5&1)
			for _, known := range []bool{false, true} { // whether the micro-TLB has the page
				all := cachedToys(t, toyConfig(cpus.Window, 64), 2)
				d := all.dir
				other := toyBeside(all.Memory, toyConfig(cpus.Window, 64), 1, all, d)
				if known {
					Store(&all.Core, 0x8100, uint64(0))
					Store(&all.Core, 0x9100, uint64(0))
				}
				Store(&other.Core, at, uint64(5))
				toyWrite(all, 0x1000, all.do(x.flags, func() {
					if v, ok := LoadForStore[uint64](&all.Core, at); ok {
						Store(&all.Core, at, v+1)
					}
				}), [4]byte{toyHalt})
				all.goFrom(0x1000)
				n := all.Counts
				if at == 0x8ffc && x.flags&Locked != 0 { // its parts come as they are read
					require.Equal(t, n.Transfers, 2, "lines that come")
					continue
				}
				require.That(t, n.Transfers == lines*x.transfers && n.Upgrades == lines*x.upgrades, "flags %#x at %#x, known %t: %d transfers, %d upgrades",
					x.flags, at, known, n.Transfers, n.Upgrades)
				require.Equal(t, get[uint64](all.ram, at), 6, "the operand is")
			}
		}
	}
}
