package x86

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"testing"
)

// Vendors as /proc/cpuinfo has them, which are the strings of CPUID.
const (
	vendorIntel = "GenuineIntel"
	vendorAMD   = "AuthenticAMD"
)

// hostVendor is the vendor of the host's processor, and empty if the host does not say it.
func hostVendor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	m := regexp.MustCompile(`(?m)^vendor_id\s*:\s*(\S+)`).FindSubmatch(info)
	if m == nil {
		return ""
	}
	return string(m[1])
}

// departure is a difference between a vendor's processors and Intel's, which the model follows.
type departure struct {
	name   string
	vendor string
	source string
	test   []string // that meet it
	// matches tells whether code begins with such an instruction, whose opcode is at op. Without it the test itself knows.
	matches func(code []byte, op int) bool
	// answer changes code into what means on Intel's processors what code means on this vendor's. Without it the
	// instruction is left out.
	answer func(code []byte, op int)
	rows   []string // of the table of instructions, which then cannot be compared
}

var hostDepartures = []departure{
	{
		name: "no far pointers of 64 bits", vendor: vendorAMD,
		source: "APM vol. 3, LFS, LGS, LSS: mem16:16 and mem16:32 alone; REX.W changes nothing",
		test:   []string{"TestAgainstHost"},
		matches: func(code []byte, op int) bool {
			return rexOf(code, op)&8 != 0 && bytes.HasPrefix(code[op:], []byte{0x0f, 0xb2})
		},
		answer: func(code []byte, op int) { code[op-1] &^= 8 },
		rows:   []string{"LSS load 64"},
	},
	{
		name: "no pause with REX.B", vendor: vendorAMD,
		source: "APM vol. 3, XCHG: opcode 90 exchanges rAX and r8 by REX; SDM vol. 2, PAUSE: F3 90",
		test:   []string{"TestAgainstHost"},
		matches: func(code []byte, op int) bool {
			return rexOf(code, op)&1 != 0 && code[op] == 0x90 && repeats(code[:op]) == 0xf3
		},
		answer: func(code []byte, op int) {
			for i := range code[:op] {
				if code[i] == 0xf3 {
					code[i] = 0x2e // cs, which is ignored
				}
			}
		},
	},
	{
		name: "a trap and the breakpoint behind it are two exceptions", vendor: vendorAMD,
		source: "APM vol. 2, 8.5 Priorities: data breakpoints before instruction breakpoints; SDM vol. 3, Debug Exception: one may report both",
		test:   []string{"TestDebugRegistersAgainstHost"},
	},
}

// opcodeAt is the place of the opcode behind the prefixes.
func opcodeAt(code []byte, bits int) int {
	i := 0
	for i < len(code) && isPrefix(code[i], bits) {
		i++
	}
	return i
}

// rexOf is the REX prefix before the opcode, or 0.
func rexOf(code []byte, op int) byte {
	if op > 0 && code[op-1]&0xf0 == 0x40 {
		return code[op-1]
	}
	return 0
}

// repeats is the last of the prefixes F2 and F3, or 0.
func repeats(prefixes []byte) byte {
	if i := bytes.LastIndexAny(prefixes, "\xf2\xf3"); i >= 0 {
		return prefixes[i]
	}
	return 0
}

// departures are those that a test meets on this host, with the number of comparisons in which each made a difference.
type departures struct {
	known []departure
	made  map[string]int
}

func departuresOf(t *testing.T) *departures {
	d := &departures{made: map[string]int{}}
	for _, x := range hostDepartures {
		if x.vendor == hostVendor() && slices.Contains(x.test, t.Name()) {
			d.known = append(d.known, x)
		}
	}
	return d
}

// of finds the departure of an instruction. The second result is the code that answers for it, if there is any.
func (d *departures) of(code []byte, bits int) (*departure, []byte) {
	op := opcodeAt(code, bits)
	for i := range d.known {
		x := &d.known[i]
		if op == len(code) || x.matches == nil || !x.matches(code, op) {
			continue
		}
		if x.answer == nil {
			return x, nil
		}
		other := slices.Clone(code)
		x.answer(other, op)
		return x, other
	}
	return nil, nil
}

// rows are those that cannot be compared for them.
func (d *departures) rows() (names []string) {
	for _, x := range d.known {
		names = append(names, x.rows...)
	}
	return names
}

// check holds that each was needed.
func (d *departures) check(t *testing.T) {
	t.Helper()
	for _, x := range d.known {
		if d.made[x.name] == 0 {
			t.Errorf("%s: no comparison with this host needs it (%s)", x.name, x.source)
			continue
		}
		how := "compared with the vendor's answer"
		if x.matches != nil && x.answer == nil {
			how = "left out"
		}
		t.Logf("%s, %s: %d vectors %s", x.vendor, x.name, d.made[x.name], how)
	}
}
