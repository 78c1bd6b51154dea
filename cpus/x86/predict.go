package x86

import "kprobesim/cpus"

// predictor predicts directions by gshare, indirect targets by a table indexed with address and
// history, and returns by a circular stack that under- and overflows silently, as hardware does.
type predictor struct {
	history  uint32
	histMask uint32
	counters []uint8
	cmask    uint32
	targets  []uint64
	tmask    uint32
	ras      []uint64
	rasTop   int // entries in use
	rasAt    int
}

func (p *predictor) init(pc cpus.PredictorConfig) {
	p.histMask = uint32(1<<pc.HistoryBits - 1)
	p.counters = make([]uint8, 1<<pc.TableBits)
	for i := range p.counters {
		p.counters[i] = 1
	}
	p.cmask = uint32(len(p.counters) - 1)
	p.targets = make([]uint64, pc.TargetEntries)
	p.tmask = uint32(pc.TargetEntries - 1)
	p.ras = make([]uint64, pc.ReturnStack)
}

// direction trains on a conditional branch that ends before next and reports a wrong prediction.
func (p *predictor) direction(next uint64, taken bool) bool {
	k := &p.counters[(uint32(next)^p.history<<1)&p.cmask]
	v := *k
	p.history <<= 1
	if taken {
		p.history |= 1
		if v < 3 {
			*k = v + 1
		}
	} else if v > 0 {
		*k = v - 1
	}
	p.history &= p.histMask
	return (v >= 2) != taken
}

// target trains on an indirect branch and reports a wrong prediction.
func (p *predictor) target(next, to uint64) bool {
	t := &p.targets[(uint32(next)^p.history)&p.tmask]
	wrong := *t != to
	*t = to
	p.history = (p.history<<2 ^ uint32(to>>4)) & p.histMask
	return wrong
}

func (p *predictor) pushReturn(to uint64) {
	p.rasAt++
	if p.rasAt == len(p.ras) {
		p.rasAt = 0
	}
	p.ras[p.rasAt] = to
	if p.rasTop < len(p.ras) {
		p.rasTop++
	}
}

// popReturn returns the predicted return address; zero when the stack is empty.
func (p *predictor) popReturn() uint64 {
	if p.rasTop == 0 {
		return 0
	}
	to := p.ras[p.rasAt]
	p.rasTop--
	p.rasAt--
	if p.rasAt < 0 {
		p.rasAt = len(p.ras) - 1
	}
	return to
}
