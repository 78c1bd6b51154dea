package pc

import "kprobesim/internal/clock"

// unit is the time in which the timer counts down by one (10.5.4): bits 3, 1 and 0 of the divide
// configuration are the logarithm of the divisor less one, but 7 divides by 1.
func (l *lapic) unit() clock.Ticks {
	divide := *l.reg(regDivide)
	n := divide>>1&4 | divide&3
	if n == 7 {
		return l.cfg.BusCycle
	}
	return l.cfg.BusCycle << (n + 1)
}

// startTimer lets the timer count down from n, or stops it when n is 0.
func (l *lapic) startTimer(n uint32) {
	if l.event != 0 {
		l.cfg.Queue.Cancel(l.event) // it may have happened at this very time: then there is none
		l.event = 0
	}
	if n == 0 || l.cfg.Queue == nil || l.cfg.Now == nil {
		return
	}
	l.plan(l.cfg.Now() + clock.Ticks(n)*l.unit())
}

// plan sets the time of the next expiry.
func (l *lapic) plan(t clock.Ticks) {
	l.expiry = t
	l.event = l.cfg.Queue.Push(t, l.expire)
}

// expire delivers the timer's interrupt and starts the next period.
func (l *lapic) expire() {
	l.event = 0
	lvt, initial := *l.reg(regLVTTimer), *l.reg(regInitial)
	if lvt&lvtPeriodic != 0 && initial != 0 {
		l.plan(l.expiry + clock.Ticks(initial)*l.unit())
	}
	l.interrupt()
}

// interrupt delivers the timer's interrupt.
func (l *lapic) interrupt() {
	if lvt := *l.reg(regLVTTimer); lvt&lvtMasked == 0 {
		l.request(uint8(lvt))
	}
}

// current is the count that the timer stands at.
func (l *lapic) current() uint32 {
	if l.event == 0 {
		return 0
	}
	unit, left := l.unit(), l.expiry-l.cfg.Now()
	if left > 0 {
		return uint32((left + unit - 1) / unit)
	}
	// The CPU is ahead of the event queue.
	initial := *l.reg(regInitial)
	if *l.reg(regLVTTimer)&lvtPeriodic == 0 || initial == 0 {
		return 0
	}
	return initial - uint32(uint64(-left/unit)%uint64(initial))
}
