package pc

import (
	"fmt"
	"testing"
	"time"

	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

const cmosSecond = 1_000_000_000 * clock.PerCycle

// at is the clock's time as its registers show it.
func (c *cmos) shown(t clock.Ticks) string {
	read := func(i uint8) uint8 {
		c.index = i
		return c.load(t)
	}
	return fmt.Sprintf("%02x%02x-%02x-%02x/%x %02x:%02x:%02x", read(cmosCentury), read(9), read(8), read(7), read(6), read(4), read(2), read(0))
}

func (c *cmos) write(i, v uint8, t clock.Ticks) {
	c.index = i
	c.store(v, t)
}

func TestCMOSTime(t *testing.T) {
	begin := time.Date(2024, 2, 28, 23, 59, 58, 0, time.UTC)
	c := bootCMOS(begin.Unix(), cmosSecond)
	for s, want := range map[int]string{0: "2024-02-28/4 23:59:58", 1: "2024-02-28/4 23:59:59", 2: "2024-02-29/5 00:00:00", 86402: "2024-03-01/6 00:00:00"} {
		require.Equal(t, c.shown(clock.Ticks(s)*cmosSecond+5000), want, "%d s later", s)
	}
	c.write(cmosStatusB, cmosBinary, 0) // 12 hours
	if c.index = cmosHours; c.load(0) != 0x80|11 {
		t.Errorf("11 in the evening is %#x", c.load(0))
	}
}

// TestCMOSSet sets the clock the way that kernels do.
func TestCMOSSet(t *testing.T) {
	c := bootCMOS(0, cmosSecond)
	c.write(cmosStatusB, cmos24|cmosSET, cmosSecond)
	for i, v := range map[uint8]uint8{0: 0x56, 2: 0x34, 4: 0x12, 7: 0x31, 8: 0x12, 9: 0x99, cmosCentury: 0x19} {
		c.write(i, v, cmosSecond)
	}
	require.Equal(t, c.shown(5*cmosSecond), "1999-12-31/5 12:34:56", "a clock that is held shows")
	c.write(cmosStatusB, cmos24, 5*cmosSecond)
	require.Equal(t, c.shown(5*cmosSecond+43200*cmosSecond), "2000-01-01/7 00:34:56", "12 hours later it shows")
}

// TestUpdateInProgress holds the bit's times: from 244 us before a second to 1984 us behind it.
func TestUpdateInProgress(t *testing.T) {
	c := bootCMOS(0, cmosSecond)
	c.index = cmosStatusA
	us := cmosSecond / 1_000_000
	for at, want := range map[clock.Ticks]bool{
		cmosSecond - 250*us: false, cmosSecond - 240*us: true, cmosSecond + 1980*us: true, cmosSecond + 1990*us: false, cmosSecond + 500_000*us: false,
	} {
		got := c.load(at)&0x80 != 0
		require.That(t, got == want, "at %d us: %v", at/us, got)
	}
}

// TestCMOSInterrupts holds the three kinds, and that a read of their flags ends them.
func TestCMOSInterrupts(t *testing.T) {
	c := bootCMOS(0, cmosSecond)
	require.That(t, c.next(0) == 0, "something is planned without an interrupt")
	for _, x := range []struct {
		enable uint8
		after  clock.Ticks // microseconds
		flag   uint8
	}{{cmosUIE, 1_983, 0x90}, {cmosPIE, 976, 0xc0}, {cmosAIE, 5_001_983, 0xb0}} {
		c := bootCMOS(0, cmosSecond)
		c.write(cmosStatusB, cmos24|x.enable, 0)
		c.write(1, 5, 0)
		c.write(3, 0xff, 0)
		c.write(5, 0xff, 0)
		var at clock.Ticks
		for !c.line() && at < 10*cmosSecond {
			at = c.next(at)
			c.look(at)
		}
		us := at * 1_000_000 / cmosSecond
		require.That(t, us == x.after, "interrupt %#x after %d us, want %d", x.enable, us, x.after)
		c.index = cmosStatusC
		got := c.load(at)
		require.That(t, got&x.flag == x.flag, "flags %#x, want %#x", got, x.flag)
		require.That(t, !c.line(), "interrupt %#x stays", x.enable)
	}
}

// TestMonthsThereAreNot has a guest write months 0 and 13 to 99.
func TestMonthsThereAreNot(t *testing.T) {
	for month, want := range map[int]int64{0: 0, 1: 0, 12: 334, 13: 365, 99: 365} {
		require.Equal(t, clock.Day(1970, month, 1), want, "month %d begins on day", month)
	}
}

// TestAlarmBefore1970 holds an alarm of the last hour of 1969.
func TestAlarmBefore1970(t *testing.T) {
	c := bootCMOS(-90, cmosSecond) // 23:58:30
	c.cells[1], c.cells[3], c.cells[5] = 0, 0x59, 0x23
	require.That(t, c.alarmBetween(-61, -60) && !c.alarmBetween(-59, -1), "the alarm of 23:59:00 does not come at its time, or comes later")
}
