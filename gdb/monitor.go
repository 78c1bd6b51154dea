package gdb

import (
	"encoding/hex"
	"fmt"
	"strings"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/internal/clock"
)

// monitorHelp lists the commands.
const monitorHelp = `cycles   time and instructions of each CPU
caches   misses and lines moved, of each CPU
phases   cycles and instructions by the phase of the code, of all CPUs
probes   the kernel's list of probes and their state
`

// monitor answers a command of gdb's monitor.
func (s *session) monitor(digits string) string {
	command, err := hex.DecodeString(digits)
	if err != nil {
		return wrong("a command that is no text")
	}
	text := monitorHelp
	switch name := strings.TrimSpace(string(command)); name {
	case "cycles":
		text = s.cycles()
	case "caches":
		text = s.caches()
	case "phases":
		text = s.phases()
	case "probes":
		text, err = s.probes()
	case "help", "":
	default:
		text = fmt.Sprintf("no command %q; known are:\n%s", name, monitorHelp)
	}
	if err != nil {
		text = err.Error() + "\n"
	}
	return hex.EncodeToString([]byte(text))
}

// each prints a line for each CPU.
func (s *session) each(line func(c cpus.CPU, n *cpus.Counters) string) string {
	var b strings.Builder
	m := s.player.inst.m
	for i := range m.CPUs() {
		n := m.CPU(i).Counted()
		fmt.Fprintf(&b, "cpu %d: %s\n", i, line(m.CPU(i), &n))
	}
	return b.String()
}

func (s *session) cycles() string {
	return s.each(func(c cpus.CPU, n *cpus.Counters) string {
		return fmt.Sprintf("%s cycles, %d instructions, at %s", inCycles(c.Now()), n.Instructions, s.player.inst.m.Image().SymbolText(c.PC()))
	})
}

func (s *session) caches() string {
	return s.each(func(_ cpus.CPU, n *cpus.Counters) string {
		return fmt.Sprintf("misses l1i %d, l1d %d, l2 %d, itlb %d, dtlb %d; mispredicted %d of %d branches; lines from other CPUs %d, taken %d",
			n.L1IMisses, n.L1DMisses, n.L2Misses, n.ITLBMisses, n.DTLBMisses, n.Mispredicts, n.Branches, n.Transfers, n.Upgrades)
	})
}

// phases adds all CPUs and contexts up.
func (s *session) phases() string {
	var time [cpus.MaxPhases]clock.Ticks
	var count [cpus.MaxPhases]uint64
	m := s.player.inst.m
	for i := range m.CPUs() {
		n := m.CPU(i).Counted()
		for context := range n.Time {
			for p := range time {
				time[p] += n.Time[context][p]
				count[p] += n.Count[context][p]
			}
		}
	}
	var b strings.Builder
	for p := range image.PhaseCount {
		if count[p] > 0 || time[p] > 0 {
			fmt.Fprintf(&b, "%-10s %16s cycles %14d instructions\n", p, inCycles(time[p]), count[p])
		}
	}
	return b.String()
}

// probes lists the probes that the kernel knows.
func (s *session) probes() (string, error) {
	if s.player.inst.probes == nil {
		return "", fmt.Errorf("the probes of this kernel are not known: it is a packaged one")
	}
	text, err := s.player.inst.probes()
	if text == "" && err == nil {
		text = "no probe is registered\n"
	}
	return text, err
}

// inCycles is a time with a decimal.
func inCycles(t clock.Ticks) string { return fmt.Sprintf("%.2f", float64(t)/float64(clock.PerCycle)) }
