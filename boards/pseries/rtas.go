package pseries

import "encoding/binary"

// Tokens of the run-time services, by which a kernel calls them. A partition finds them in its device tree;
// here they are constants.
const (
	rtasStartCPU       = 1 // CPU, address, r3; status
	rtasStopSelf       = 2 // does not return
	rtasQueryCPUStatus = 3 // query-cpu-stopped-state. CPU; status, state
)

// Values of the status word (LoPAR, Run-Time Abstraction Services, RTAS Status Word Values), as
// 32-bit numbers.
const (
	rtasSuccess   = 0
	rtasHardware  = 0xffffffff // -1
	rtasParameter = 0xfffffffd // -3
)

// States that query-cpu-stopped-state returns.
const (
	cpuStopped    = 0
	cpuNotStopped = 2
)

// service is a run-time service with the words that it takes and returns at least.
type service struct {
	args, rets uint32
	f          func(c *processor, args []uint32) (rets [2]uint32)
}

var services = map[uint32]service{
	rtasStartCPU:       {3, 1, (*processor).startCPU},
	rtasStopSelf:       {0, 0, func(c *processor, _ []uint32) (rets [2]uint32) { c.stop(); return rets }},
	rtasQueryCPUStatus: {1, 2, (*processor).queryCPU},
}

// maxWords bounds the words of an argument block.
const maxWords = 16

// rtas calls a service. r4 is the physical address of its argument block: words of 32 bits with the token, the
// number of arguments, the number of results, then these (LoPAR, RTAS Environment, rtas-call).
func (c *processor) rtas(r *registers) uint64 {
	const head = 3
	m, at := c.p.m.Memory(), r[1]
	block := m.Bytes(at, 4*(head+maxWords))
	if block == nil || at&3 != 0 {
		return parameter
	}
	word := func(i uint32) uint32 { return binary.BigEndian.Uint32(block[4*i:]) }
	s, known := services[word(0)]
	args, rets := word(1), word(2)
	if !known || args < s.args || rets < s.rets || args > maxWords || rets > maxWords-args {
		return parameter
	}
	in := make([]uint32, s.args)
	for i := range in {
		in[i] = word(head + uint32(i))
	}
	out := s.f(c, in)
	for i := range s.rets {
		m.Store(binary.BigEndian, at+4*uint64(head+args+i), 4, uint64(out[i]))
	}
	return success
}

// startCPU starts a CPU that is stopped, when the message has come there.
func (c *processor) startCPU(args []uint32) (rets [2]uint32) {
	switch n := args[0]; {
	case n >= uint32(len(c.p.cpus)):
		rets[0] = rtasParameter
	case !c.p.m.Stopped(int(n)):
		rets[0] = rtasHardware
	default:
		c.p.m.Send(c.num, func() { c.p.m.Start(int(n)) })
	}
	return rets
}

func (c *processor) queryCPU(args []uint32) (rets [2]uint32) {
	switch n := args[0]; {
	case n >= uint32(len(c.p.cpus)):
		rets[0] = rtasParameter
	case c.p.m.Stopped(int(n)):
		rets[1] = cpuStopped
	default:
		rets[1] = cpuNotStopped
	}
	return rets
}
