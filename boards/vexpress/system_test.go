package vexpress

import (
	"strings"
	"testing"

	"kprobesim/internal/require"
)

const (
	configData    = systemBase + 0xa0
	configControl = systemBase + 0xa4
	configStatus  = systemBase + 0xa8
)

// TestConfiguration asks the controller for what it has and for what it has not.
func TestConfiguration(t *testing.T) {
	for _, x := range []struct {
		name         string
		control      uint64
		status, data uint64
		ended        string
	}{
		{"not started", functionOscillator<<configFunction | 2, 0, 7, ""},
		{"the clock of the serial ports", configStart | functionOscillator<<configFunction | 2, configDone, 24_000_000, ""},
		{"a clock is set", configStart | configWrite | functionOscillator<<configFunction | 2, configDone | configFailed, 7, ""},
		{"a clock of the tile", configStart | functionOscillator<<configFunction | 1<<16 | 2, configDone | configFailed, 7, ""},
		{"a clock that is not there", configStart | functionOscillator<<configFunction | 3, configDone | configFailed, 7, ""},
		{"a temperature", configStart | 4<<configFunction, configDone | configFailed, 7, ""},
		{"shutdown is read", configStart | functionShutdown<<configFunction, configDone | configFailed, 7, ""},
		{"shutdown", configStart | configWrite | functionShutdown<<configFunction, configDone, 7, SwitchedOff},
		{"restart", configStart | configWrite | functionReboot<<configFunction, configDone, 7, Restarted},
	} {
		b, m := newMachine(t, 1)
		p := b.ports[0]
		p.Store(configStatus, 4, 0)
		p.Store(configData, 4, 7)
		p.Store(configControl, 4, x.control)
		require.Equal(t, p.Load(configStatus, 4), x.status, "%s: the status", x.name)
		require.Equal(t, p.Load(configData, 4), x.data, "%s: the data", x.name)
		require.Equal(t, p.Load(configControl, 4), x.control&^configStart, "%s: the start bit is not kept", x.name)
		require.Equal(t, m.Ended(), x.ended, "%s: the end", x.name)
	}
}

// TestHalfwords drives the serial port as a driver does that has registers of 16 bits. The controllers have none.
func TestHalfwords(t *testing.T) {
	p := newHardware(t, 1).ports[0]
	p.Store(consoleBase+0x30, 2, 0x301)
	p.Store(consoleBase+0x24, 2, 0x1234)
	p.Store(consoleBase+0x26, 2, 0xffff) // the half that is not there
	require.Equal(t, p.Load(consoleBase+0x24, 2), uint64(0x1234), "the divisor")
	require.Equal(t, p.Load(consoleBase+0x26, 2), uint64(0), "what is behind it")
	p.Store(consoleBase, 2, 'x')
	require.Equal(t, p.Load(consoleBase+0x3c, 2), uint64(sentBit), "a byte was sent")
	p.Store(distributorBase, 2, 1)
	require.Equal(t, p.Load(distributorBase, 4), uint64(0), "a halfword to a controller")
	require.Equal(t, p.Load(distributorBase, 2), uint64(0), "a halfword of one")
}

// TestLacks names nodes of TC2's device tree.
func TestLacks(t *testing.T) {
	for node, x := range map[string]struct {
		kinds string
		lacks bool
	}{
		"serial@90000":                  {"arm,pl011 arm,primecell", false},
		"serial@a0000":                  {"arm,pl011 arm,primecell", true},
		"timer@110000":                  {"arm,sp804 arm,primecell", true},
		"timer":                         {"arm,armv7-timer", false},
		"interrupt-controller@2c001000": {"arm,cortex-a15-gic arm,cortex-a9-gic", false},
		"sysreg@10000":                  {"arm,vexpress-sysreg", false},
		"pmu-a15":                       {"arm,cortex-a15-pmu", true},
		"cci@2c090000":                  {"arm,cci-400", true},
		"slave-if@4000":                 {"arm,cci-400-ctrl-if", true},
		"pmu-a7":                        {"arm,cortex-a7-pmu", true},
	} {
		require.Equal(t, Board{}.Lacks(node, strings.Fields(x.kinds)), x.lacks, "%s", node)
	}
}
