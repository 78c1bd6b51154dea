package x86

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	sys "syscall"
	"testing"
)

// Vendors as /proc/cpuinfo has them, which are the strings of CPUID.
const (
	vendorIntel = "GenuineIntel"
	vendorAMD   = "AuthenticAMD"
)

// hostInfo is the first value of a key of /proc/cpuinfo, and empty if the host has none.
func hostInfo(key string) string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	m := regexp.MustCompile(`(?m)^` + key + `\s*: (.*)$`).FindSubmatch(info)
	if m == nil {
		return ""
	}
	return string(m[1])
}

// hostVendor is the vendor of the host's processor.
func hostVendor() string { return hostInfo("vendor_id") }

// hostIsVirtual tells whether the host is a virtual machine.
func hostIsVirtual() bool { return slices.Contains(strings.Fields(hostInfo("flags")), "hypervisor") }

// departure is a difference between a vendor's processors and Intel's, which the model follows.
type departure struct {
	name   string
	vendor string
	source string
	test   []string // that meet it
	// matches tells whether code begins with such an instruction, whose opcode is at op. Without it the test itself knows.
	matches func(code []byte, op int) bool
	// virtual is set where the difference is known of virtual machines alone. It may then be the hypervisor's.
	virtual bool
	// some is set where not all of these processors do so.
	some bool
	// answer changes code into what means on Intel's processors what code means on this vendor's. Without it the
	// instruction is left out.
	answer func(code []byte, op int)
	long   bool // 64-bit mode alone has it
	// adapt makes of what the model got what this vendor's processors get. The host's own answer says what no manual does.
	adapt        func(from, want, got *stepState)
	adaptOutcome func(want, got *outcome) // the same of a vector
	rows         []string                 // of the table of instructions, which then cannot be compared
}

var hostDepartures = []departure{
	{
		name: "no far pointers of 64 bits", vendor: vendorAMD, long: true,
		source: "APM vol. 3, LFS, LGS, LSS: mem16:16 and mem16:32 alone; REX.W changes nothing",
		test:   []string{"TestAgainstHost"},
		matches: func(code []byte, op int) bool {
			return rexOf(code, op)&8 != 0 && bytes.HasPrefix(code[op:], []byte{0x0f, 0xb2})
		},
		answer: func(code []byte, op int) { code[op-1] &^= 8 },
		rows:   []string{"LSS load 64"},
	},
	{
		name: "near branches of 16 bits", vendor: vendorAMD, long: true,
		source: "APM vol. 1, 3.7.9: 66 makes the operand size 16 bits; SDM vol. 2, CALL, Jcc, JMP, LOOP, RET: 64 bits in 64-bit mode",
		test:   []string{"TestRandomBytesAgainstHost"},
		matches: func(code []byte, op int) bool {
			return rexOf(code, op)&8 == 0 && bytes.IndexByte(code[:op], 0x66) >= 0 && nearBranch(code[op:])
		},
	},
	{
		name: "F2 and F3 choose the condition of loope and loopne", vendor: vendorAMD,
		source:  "measured on family 1Ah; APM vol. 3, Repeat Prefixes, and SDM vol. 2, REP: undefined with other instructions than those of strings",
		test:    []string{"TestRandomBytesAgainstHost"},
		matches: func(code []byte, op int) bool { return code[op]&^1 == 0xe0 && repeats(code[:op]) != 0 },
		answer:  func(code []byte, op int) { code[op] = 0xe0 | repeats(code[:op])&1 },
	},
	{
		name: "no prefetch of a register", vendor: vendorAMD,
		source: "APM vol. 3, PREFETCH: #UD if the operand is a register",
		test:   []string{"TestRandomBytesAgainstHost"},
		matches: func(code []byte, op int) bool {
			return bytes.HasPrefix(code[op:], []byte{0x0f, 0x0d}) && code[op+2] >= 0xc0
		},
		answer: func(code []byte, op int) { code[op+1] = 0x0b },
	},
	{
		name: "the target of a call is looked at before the return address is written", vendor: vendorAMD,
		source:  "measured on family 1Ah; APM vol. 3, CALL (Near): #GP for a target that is not canonical, without an order",
		test:    []string{"TestRandomBytesAgainstHost"},
		matches: func(code []byte, op int) bool { return code[op] == 0xff && code[op+1]>>3&7 == 2 },
		adapt: func(from, _, got *stepState) {
			if got.signal == sys.SIGSEGV && got.addr == 0 {
				got.mem = from.mem
			}
		},
	},
	{
		name: "a trap amid a repetition shows RF as it was", vendor: vendorAMD, virtual: true,
		source:  "measured on family 19h behind KVM; SDM vol. 3, 17.3.1.1: RF is set",
		test:    []string{"TestRandomBytesAgainstHost"},
		matches: func(code []byte, op int) bool { return repeats(code[:op]) != 0 && stringOpcode(code[op]) },
		adapt: func(from, _, got *stepState) {
			if got.midway(from) {
				got.flags &^= flagRF &^ from.flags
			}
		},
	},
	{
		name: "a trap or a fault amid a repetition shows the flags of the last comparison", vendor: vendorAMD,
		source:  "measured on family 19h; SDM vol. 2, REP: those from before",
		test:    []string{"TestRandomBytesAgainstHost", "TestAgainstHost"},
		matches: func(code []byte, op int) bool { return repeats(code[:op]) != 0 && compareOpcode(code[op]) },
		adapt: func(from, want, got *stepState) {
			if got.midway(from) {
				got.flags = got.flags&^arith | want.flags&arith
			}
		},
		adaptOutcome: func(want, got *outcome) {
			if want.signal == uint64(sys.SIGSEGV) {
				got.flags = got.flags&^arith | want.flags&arith
			}
		},
	},
	{
		name: "cmps looks at its first operand first", vendor: vendorAMD,
		source:  "measured on family 19h, on Intel's processors the second one is reported; neither manual has an order",
		test:    []string{"TestRandomBytesAgainstHost"},
		matches: func(code []byte, op int) bool { return code[op]&^1 == 0xa6 },
		adapt: func(_, want, got *stepState) {
			if want.signal == sys.SIGSEGV && got.signal == sys.SIGSEGV {
				got.addr = want.addr
			}
		},
	},
	{
		name: "an operand around the end of all addresses is outside of its segment", vendor: vendorAMD,
		source:  "measured on family 19h; SDM vol. 3, 5.3: whether it is, depends on the processor",
		test:    []string{"TestRandomBytesAgainstHost"},
		matches: func([]byte, int) bool { return true },
		adapt: func(_, want, got *stepState) {
			if want.signal != sys.SIGTRAP && want.addr == 0 && got.addr > 0xfffffff0 && got.addr>>32 == 0 {
				got.signal, got.addr = want.signal, 0
			}
		},
	},
	{
		name: "push of a segment register clears the upper half of its slot", vendor: vendorAMD,
		source:  "measured on family 19h; SDM vol. 2, PUSH: recent processors write 16 bits",
		test:    []string{"TestRandomBytesAgainstHost"},
		matches: pushesSegment,
		adapt: func(from, want, got *stepState) {
			at := got.regs[rsp] + 2 - traceeData
			if got.regs[rsp]+4 == from.regs[rsp] && at < stepBytes-1 {
				copy(got.mem[at:], want.mem[at:at+2])
			} else if want.signal == sys.SIGSEGV && from.regs[rsp]-want.addr-1 < 2 && got.signal == sys.SIGTRAP {
				got.signal, got.addr, got.rip, got.regs, got.mem = want.signal, want.addr, from.rip, from.regs, from.mem
				got.flags = from.flags | flagRF
			}
		},
	},
	{
		name: "a store of an MMX register that faults leaves all of x87 as it was", vendor: vendorAMD, some: true,
		source: "measured on models 1 and 17 of family 19h and on model 2 of family 1Ah, where others have cleared the top by then; SDM vol. 1, 9.6.2 has no order",
		test:   []string{"TestMMXAgainstHost"},
		matches: func(code []byte, op int) bool {
			return code[op] == 0x0f && slices.Contains([]byte{0x7e, 0x7f, 0xe7}, code[op+1])
		},
		adapt: func(from, want, got *stepState) {
			if want.signal == sys.SIGSEGV && want.x87 == from.x87 {
				got.x87 = from.x87
			}
		},
	},
	{
		name: "bound reads both limits before it compares", vendor: vendorAMD,
		source:  "measured on family 19h, on Intel's processors the lower one may decide before the other is read; neither manual has an order",
		test:    []string{"TestRandomBytesAgainstHost"},
		matches: func(code []byte, op int) bool { return code[op] == 0x62 },
		adapt: func(_, want, got *stepState) {
			if want.signal == got.signal && got.addr == 0 {
				got.addr = want.addr
			}
		},
	},
	{
		name: "movsxd to 16 bits reads 32 bits", vendor: vendorAMD, long: true,
		source: "measured on family 19h; SDM vol. 2, MOVSXD: r16, r/m16",
		test:   []string{"TestRandomBytesAgainstHost"},
		matches: func(code []byte, op int) bool {
			return code[op] == 0x63 && code[op+1] < 0xc0 && rexOf(code, op)&8 == 0 && bytes.IndexByte(code[:op], 0x66) >= 0
		},
	},
	{
		name: "lock makes CR8 of CR0", vendor: vendorAMD,
		source: "APM vol. 3, MOV CRn: an alternative encoding of CR8; SDM vol. 2, LOCK: #UD",
		test:   []string{"TestRandomBytesAgainstHost"},
		matches: func(code []byte, op int) bool {
			return bytes.IndexByte(code[:op], 0xf0) >= 0 && code[op] == 0x0f && code[op+1]&^2 == 0x20
		},
	},
	{
		name: "int1 is reported at the instruction", vendor: vendorAMD, virtual: true,
		source:  "measured on family 1Ah behind KVM; SDM vol. 3, Debug Exception: a trap, with the address behind it",
		test:    []string{"TestRandomBytesAgainstHost"},
		matches: func(code []byte, op int) bool { return code[op] == 0xf1 },
	},
	{
		name: "no pause with REX.B", vendor: vendorAMD, long: true,
		source: "APM vol. 3, XCHG: opcode 90 exchanges rAX and r8 by REX; SDM vol. 2, PAUSE: F3 90",
		test:   []string{"TestAgainstHost", "TestRandomBytesAgainstHost"},
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

// pushesSegment reports a push of a segment register.
func pushesSegment(code []byte, op int) bool {
	b := code[op]
	return b == 0x06 || b == 0x0e || b == 0x16 || b == 0x1e || b == 0x0f && code[op+1]&^8 == 0xa0
}

// stringOpcode and compareOpcode report string instructions, and string comparisons.
func stringOpcode(b byte) bool  { return b >= 0xa4 && b <= 0xaf && b&^1 != 0xa8 }
func compareOpcode(b byte) bool { return b&^1 == 0xa6 || b&^1 == 0xae }

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

// nearBranch tells whether an instruction is one, without prefixes.
func nearBranch(code []byte) bool {
	switch op := code[0]; {
	case op == 0x0f:
		return code[1]&0xf0 == 0x80
	case op == 0xff:
		return code[1]>>3&7 == 2 || code[1]>>3&7 == 4
	default:
		return op&0xf0 == 0x70 || op&^3 == 0xe0 || op&^1 == 0xc2 || op == 0xe8 || op == 0xe9 || op == 0xeb
	}
}

// departures are those that a test meets on this host. Each has the number of its comparisons, and of those in which it
// made a difference.
type departures struct {
	known     []departure
	met, made map[string]int
}

func departuresOf(t *testing.T) *departures {
	d := &departures{met: map[string]int{}, made: map[string]int{}}
	for _, x := range hostDepartures {
		if x.vendor == hostVendor() && (!x.virtual || hostIsVirtual()) && slices.Contains(x.test, t.Name()) {
			d.known = append(d.known, x)
		}
	}
	return d
}

// of finds the departure of an instruction. The second result is the code that answers for it, if there is any.
func (d *departures) of(code []byte, bits int) (*departure, []byte) {
	op := opcodeAt(code, bits)
	long := append(slices.Clone(code), 0, 0, 0) // an opcode and what is looked at behind it
	for i := range d.known {
		x := &d.known[i]
		if x.adapt != nil || !x.meets(long, op, bits) {
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

// meets tells whether code in a mode begins with such an instruction.
func (x *departure) meets(code []byte, op, bits int) bool {
	return x.matches != nil && (bits == 64 || !x.long) && x.matches(code, op)
}

// adapting are the departures of an instruction by which what the model got is adapted.
func (d *departures) adapting(code []byte, bits int) (all []*departure) {
	op := opcodeAt(code, bits)
	for i := range d.known {
		if x := &d.known[i]; x.adapt != nil && op < len(code) && x.meets(append(slices.Clone(code), 0, 0, 0), op, bits) {
			all = append(all, x)
		}
	}
	return all
}

// note counts a comparison.
func (d *departures) note(x *departure, differs bool) {
	d.met[x.name]++
	if differs {
		d.made[x.name]++
	}
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
		if d.made[x.name] == 0 && x.some {
			continue
		}
		if d.made[x.name] == 0 {
			t.Errorf("%s: no comparison with this host needs it (%s)", x.name, x.source)
			continue
		}
		how := "compared with the vendor's own answer"
		if x.matches != nil && x.answer == nil && x.adapt == nil {
			how = "left out"
		}
		t.Logf("%s, %s: %d vectors %s, %d of which differ from Intel's (%s)", x.vendor, x.name, d.met[x.name], how, d.made[x.name], x.source)
	}
}
