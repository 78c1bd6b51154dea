package engine

import (
	"fmt"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// Places in memory that both CPUs have read. Other pages may be one CPU's own, whose stores need not wait.
const (
	dataAt  = 0x8000
	flagAt  = 0x8100
	otherAt = 0x9000
	placeAt = 0x9100
)

// orderedToys are two CPUs of one machine whose stores wait in buffers. One of them executes at a time.
type orderedToys struct {
	cpus    [2]*toy
	buffers [2]*mmu.StoreBuffer
	lost    []string
}

func newOrdered(t *testing.T, weak bool) *orderedToys {
	o, first := new(orderedToys), cachedToys(t, toyConfig(cpus.Window, 64), 2)
	o.cpus = [2]*toy{first, toyBeside(first.Memory, toyConfig(cpus.Window, 64), 1, first, first.dir)}
	past := mmu.NewPast(first.Memory)
	for i, c := range o.cpus {
		c.Bus.Device, c.Bus.Ports = &register{c: c}, &register{c: c}
		Store(&c.Core, dataAt, uint64(0)) // a right to write that is known
		if weak {
			o.buffers[i] = past.Buffer(8, nil)
			c.bufferWeakly(o.buffers[i], func(pa uint64, n int) { o.lost = append(o.lost, fmt.Sprintf("%d: %#x, %d", i, pa, n)) })
		} else {
			o.buffers[i] = mmu.NewStoreBuffer(first.Memory, 8, nil)
			c.BufferStores(o.buffers[i])
		}
		o.turn(i, func(c *Core) {
			o.load(i, dataAt)
			o.load(i, otherAt)
		})
	}
	return o
}

// turn has a CPU do something.
func (o *orderedToys) turn(cpu int, f func(c *Core)) {
	o.buffers[cpu].Show()
	f(&o.cpus[cpu].Core)
	o.buffers[cpu].Hide()
}

// load is a load by a CPU in its turn.
func (o *orderedToys) load(cpu int, at uint64) uint64 {
	v, _ := Load[uint64](&o.cpus[cpu].Core, at)
	return v
}

// seen returns what the second CPU loads behind a barrier.
func (o *orderedToys) seen(at uint64) (v uint64) {
	o.turn(1, func(c *Core) {
		c.OrderLoads()
		v = o.load(1, at)
	})
	return v
}

// locked executes an instruction that loads a place and stores to it. between is called between the two.
func (o *orderedToys) locked(flags uint16, between func()) {
	c := o.cpus[0]
	toyWrite(c, 0x1000, c.do(flags, func() {
		LoadForStore[uint64](&c.Core, placeAt)
		between()
		Store(&c.Core, placeAt, uint64(3))
	}))
	c.R[PC] = 0x1000
	c.Steps(1, soon)
}

// TestWhatWaitsForStores has a CPU store a word and do something else. Then the word is seen by another CPU, or not, where stores of one CPU keep
// their order and where they do not.
func TestWhatWaitsForStores(t *testing.T) {
	nothing := func() {}
	for name, x := range map[string]struct {
		do           func(o *orderedToys, c *Core)
		strong, weak bool
	}{
		"nothing":           {func(*orderedToys, *Core) {}, false, false},
		"drain":             {func(_ *orderedToys, c *Core) { c.DrainStores() }, true, true},
		"all":               {func(_ *orderedToys, c *Core) { c.OrderAll() }, true, true},
		"stores":            {func(_ *orderedToys, c *Core) { c.OrderStores() }, false, false},
		"loads":             {func(_ *orderedToys, c *Core) { c.OrderLoads() }, false, false},
		"control":           {func(_ *orderedToys, c *Core) { c.OrderByControl() }, false, false},
		"another store":     {func(_ *orderedToys, c *Core) { Store(c, placeAt, uint8(1)) }, false, false},
		"device load":       {func(_ *orderedToys, c *Core) { Load[uint8](c, outside) }, true, false},
		"device store":      {func(_ *orderedToys, c *Core) { Store(c, outside, uint8(1)) }, true, false},
		"port in":           {func(_ *orderedToys, c *Core) { c.LoadPort(1, 1) }, true, true},
		"port out":          {func(_ *orderedToys, c *Core) { c.StorePort(1, 1, 1) }, true, true},
		"locked":            {func(o *orderedToys, _ *Core) { o.locked(Loads|Stores|Locked, nothing) }, true, true},
		"not locked":        {func(o *orderedToys, _ *Core) { o.locked(Loads|Stores, nothing) }, false, false},
		"newest":            {func(_ *orderedToys, c *Core) { c.LoadNewest(dataAt, 8) }, false, true},
		"newest, elsewhere": {func(_ *orderedToys, c *Core) { c.LoadNewest(placeAt, 8) }, false, false},
		"conditional":       {func(_ *orderedToys, c *Core) { c.StoredConditionally() }, false, true},
	} {
		for _, weak := range []bool{false, true} {
			o := newOrdered(t, weak)
			o.turn(0, func(c *Core) {
				Store(c, dataAt, uint64(1))
				require.Equal(t, o.load(0, dataAt), 1, "a CPU finds of its own store")
				x.do(o, c)
			})
			want := x.strong
			if weak {
				want = x.weak
			}
			require.Equal(t, o.seen(dataAt) == 1, want, "behind %q, weak order %t: a store is seen", name, weak)
		}
	}
}

// TestWordsFindStores has one CPU store a word, and the other one load four. It depends on the store where it is one of the four.
func TestWordsFindStores(t *testing.T) {
	for i := range 6 {
		o := newOrdered(t, true)
		o.turn(0, func(c *Core) {
			Store(c, dataAt-4+4*uint64(i), uint32(1))
			c.DrainStores()
		})
		o.seen(dataAt)
		o.turn(0, func(c *Core) { // so that loads of the other CPU may miss a store
			Store(c, otherAt, uint64(1))
			c.DrainStores()
		})
		o.turn(1, func(c *Core) {
			c.views.loaded = 0
			require.That(t, c.tracks() && c.LoadWords(dataAt, make([]uint32, 4)), "no words, or nothing to miss")
			require.Equal(t, c.views.loaded != 0, i > 0 && i < 5, "a store to word %d of 0 to 3 is depended on", i-1)
		})
	}
}

// TestEveryStoreWaits has the micro-TLB give no way past a buffer, before or behind the first store.
func TestEveryStoreWaits(t *testing.T) {
	for _, weak := range []bool{false, true} {
		o := newOrdered(t, weak)
		for i := range 3 {
			o.turn(0, func(c *Core) { Store(c, dataAt+8*uint64(i), uint64(1)) })
			require.Equal(t, o.buffers[0].Held(), i+1, "weak order %t: stores that wait", weak)
		}
	}
}

// TestLockedInstructionsWaitForNothing has older stores leave in front of a locked instruction's load, and its own behind it.
func TestLockedInstructionsWaitForNothing(t *testing.T) {
	for _, x := range []struct {
		flags           uint16
		before, between int
	}{{Loads | Stores | Locked, 0, 0}, {Loads | Stores, 1, 2}} {
		o := newOrdered(t, false)
		o.turn(0, func(c *Core) {
			Store(c, dataAt, uint64(1))
			o.locked(x.flags, func() {
				require.Equal(t, o.buffers[0].Held(), x.before, "flags %#x: stores that wait in front of its store", x.flags)
			})
		})
		require.Equal(t, o.buffers[0].Held(), x.between, "flags %#x: stores that wait behind it", x.flags)
	}
}

// TestYoungerStoresLeaveFirst has the second of two stores leave before the first, unless a barrier stands between them.
func TestYoungerStoresLeaveFirst(t *testing.T) {
	for name, x := range map[string]struct {
		barrier    func(c *Core)
		flag, data uint64
	}{
		"none":    {func(*Core) {}, 1, 0},
		"stores":  {(*Core).OrderStores, 0, 0},
		"all":     {(*Core).OrderAll, 1, 1},
		"loads":   {(*Core).OrderLoads, 1, 0},
		"control": {(*Core).OrderByControl, 1, 0},
	} {
		o := newOrdered(t, true)
		o.turn(0, func(c *Core) {
			Store(c, dataAt, uint64(1))
			x.barrier(c)
			Store(c, flagAt, uint64(1))
		})
		o.buffers[0].DrainWhere(func(number uint64) bool { return number == o.buffers[0].Stored() })
		require.That(t, o.seen(flagAt) == x.flag && o.seen(dataAt) == x.data, "barrier %q: flag and data are %d and %d", name, o.seen(flagAt), o.seen(dataAt))
	}
}

// TestConditionalStoresLeaveAlone has a conditional store leave in front of older ones, and behind those that it must not pass.
func TestConditionalStoresLeaveAlone(t *testing.T) {
	for _, barrier := range []bool{false, true} {
		o := newOrdered(t, true)
		o.turn(0, func(c *Core) {
			Store(c, dataAt, uint64(1))
			if barrier {
				c.OrderStores()
			}
			Store(c, flagAt, uint64(1))
			c.StoredConditionally()
		})
		require.That(t, o.seen(flagAt) == 1 && (o.seen(dataAt) == 1) == barrier, "barrier %t: flag %d, data %d", barrier, o.seen(flagAt), o.seen(dataAt))
	}
}

// TestDependenciesOrderLoads has the first CPU store data and then a flag, which is the address of the data. The second sees the flag and not yet
// the data. It finds the data all the same where the load's address comes from the flag, or a barrier stands between them.
func TestDependenciesOrderLoads(t *testing.T) {
	flag := [4]byte{toyLoad, 1, 20, 0}
	data := [4]byte{toyLoad, 2, 21, 0}
	for name, x := range map[string]struct {
		code [][4]byte
		call func(c *Core)
		want uint64
	}{
		"independent":          {[][4]byte{flag, data}, nil, 0},
		"address":              {[][4]byte{flag, {toyLoad, 2, 1, 0}}, nil, 1},
		"computed address":     {[][4]byte{flag, {toyAdd, 3, 1, 0}, {toyLoad, 2, 3, 0}}, nil, 1},
		"further result":       {[][4]byte{flag, {toyAdd, 4, 1, 1}, {toyLoad, 2, 5, 0}}, nil, 1},
		"register set anew":    {[][4]byte{flag, {toyAdd, 1, 24, 1}, {toyLoad, 2, 1, 0}}, nil, 0},
		"address written back": {[][4]byte{{toyLoad, 1, 22, 1}, {toyLoad, 2, 22, 9}}, nil, 1},
		"own store":            {[][4]byte{flag, {toyStore, 1, 23, 0}, {toyLoad, 3, 23, 0}, {toyLoad, 2, 3, 0}}, nil, 1},
		"another store":        {[][4]byte{flag, {toyStore, 21, 23, 0}, {toyLoad, 3, 23, 0}, {toyLoad, 2, 3, 0}}, nil, 0},
		"branch":               {[][4]byte{flag, count(1, 0), data}, nil, 0},
		"branch and barrier":   {[][4]byte{flag, count(1, 0), {toyDo}, data}, (*Core).OrderByControl, 1},
		"another branch":       {[][4]byte{flag, count(21, 0), {toyAdd, 21, 21, 1}, {toyDo}, data}, (*Core).OrderByControl, 0},
		"barrier, no branch":   {[][4]byte{flag, {toyDo}, data}, (*Core).OrderByControl, 0},
		"loads":                {[][4]byte{flag, {toyDo}, data}, (*Core).OrderLoads, 1},
		"stores":               {[][4]byte{flag, {toyDo}, data}, (*Core).OrderStores, 0},
		"all":                  {[][4]byte{flag, {toyDo}, data}, (*Core).OrderAll, 1},
		"newest":               {[][4]byte{flag, {toyDo}, data}, func(c *Core) { c.LoadNewest(dataAt, 8) }, 1},
		"newest, elsewhere":    {[][4]byte{flag, {toyDo}, data}, func(c *Core) { c.LoadNewest(placeAt, 8) }, 0},
	} {
		for _, at := range []uint64{flagAt, placeAt + 0x100} { // in one page with the data, and in another
			o := newOrdered(t, true)
			c := o.cpus[1]
			c.does = []func(){func() { x.call(&c.Core) }}
			toyWrite(c, 0x1000, x.code...)
			o.turn(0, func(first *Core) {
				Store(first, dataAt, uint64(1))
				Store(first, at, uint64(dataAt))
				first.OrderAll()
			})
			o.buffers[1].SeeWhere(func(_ int, number uint64) bool { return number == o.buffers[0].Stored() })
			c.R[PC], c.R[20], c.R[21], c.R[22], c.R[23], c.R[24], c.R[5] = 0x1000, at, dataAt, at-1, placeAt, dataAt-1, dataAt
			o.turn(1, func(*Core) {
				for i := range x.code {
					c.Steps(1, soon)
					if i == 0 {
						c.R[22] = dataAt - 9 // from where the address of the data is
					}
				}
			})
			require.Equal(t, c.R[2], x.want, "%s, flag at %#x: data are", name, at)
		}
	}
}

// TestOthersAreToldOfStores has each CPU be told of stores of others when they leave.
func TestOthersAreToldOfStores(t *testing.T) {
	o := newOrdered(t, true)
	o.turn(0, func(c *Core) { Store(c, dataAt+4, uint16(1)) })
	require.Equal(t, len(o.lost), 0, "told of a store that waits")
	o.turn(0, (*Core).OrderAll)
	require.Equal(t, fmt.Sprint(o.lost), "[1: 0x8004, 2]", "told are")
}

// TestNewestNeedsATranslation has the address of a load that reserves be refused.
func TestNewestNeedsATranslation(t *testing.T) {
	o := newOrdered(t, true)
	c := o.cpus[0]
	c.translator = perPage{c, 0x7000, 0}
	o.turn(0, func(c *Core) {
		require.That(t, c.LoadNewest(dataAt, 8) && c.Stop == 0, "a place is refused")
		require.That(t, !c.LoadNewest(0x7000, 8) && c.Stop == StopFault, "a place that is refused is loaded from")
	})
}
