package pc_test

import (
	"encoding/binary"
	"maps"
	"testing"

	"kprobesim/boards/pc"
	"kprobesim/cpus/cpustest"
	"kprobesim/cpus/x86"
	"kprobesim/internal/require"
)

// TestFirmware walks the tables as the MultiProcessor Specification says that a kernel does.
func TestFirmware(t *testing.T) {
	cfg := cpustest.Config(x86.ISA64())
	c, err := (pc.Legacy{}).Firmware(&cfg, 1)
	require.That(t, c == nil && err == nil, "one CPU: %v, %v", c, err)
	for _, n := range []int{2, 4, 32} {
		chunks := require.Must(pc.Legacy{}.Firmware(&cfg, n))(t)
		le, mem := binary.LittleEndian, make([]byte, 640<<10)
		for _, c := range chunks {
			copy(mem[c.PA:], c.Data)
		}
		at := int(le.Uint16(mem[0x40e:])) << 4
		pointer := mem[at : at+16]
		require.Need(t, string(pointer[:4]) == "_MP_" && pointer[8] == 1 && sum(pointer) == 0, "%d CPUs: the pointer is % x", n, pointer)
		table := mem[le.Uint32(pointer[4:]):]
		table = table[:le.Uint16(table[4:])]
		require.Need(t, string(table[:4]) == "PCMP" && string(table[8:28]) == "KPROBSIMPC          " && sum(table) == 0 && le.Uint32(table[36:]) == x86.APICBase, "%d CPUs: the header is % x", n, table[:44])
		kinds, count, ioapic := map[byte]int{}, 0, []byte(nil)
		for e := table[44:]; len(e) > 0; count++ {
			size := 8
			if e[0] == 0 {
				size = 20
				require.That(t, int(e[1]) == kinds[0] && e[3]&1 != 0 && (e[3]&2 != 0) == (e[1] == 0), "%d CPUs: processor % x", n, e[:size])
			}
			switch kinds[e[0]]++; e[0] {
			case 2:
				ioapic = e[:size]
			case 3:
				pin := e[5]
				if pin == 0 {
					pin = 2
				}
				require.Equal(t, [8]byte(e), [8]byte{3, 0, 0, 0, 0, e[5], ioapic[1], pin}, "%d CPUs: an interrupt of the bus goes to the I/O APIC by", n)
			case 4:
				what, pin := []byte{3, 1}[kinds[4]-1], byte(kinds[4]-1) // ExtINT, then NMI
				require.Equal(t, [8]byte(e), [8]byte{4, what, 0, 0, 0, 0, 0xff, pin}, "%d CPUs: an interrupt goes to all local APICs by", n)
			}
			e = e[size:]
		}
		want := map[byte]int{0: n, 1: 1, 2: 1, 3: 15, 4: 2}
		require.That(t, ioapic[1] == byte(min(n, 15)) && ioapic[3] == 1 && le.Uint32(ioapic[4:]) == 0xfec00000, "%d CPUs: the I/O APIC is % x", n, ioapic)
		require.That(t, maps.Equal(kinds, want) && count == int(le.Uint16(table[34:])), "%d CPUs: entries %v of %d", n, kinds, count)
	}
	if _, err := (pc.Legacy{}).Firmware(&cfg, 64); err == nil {
		t.Error("64 CPUs fit into a KiB")
	}
	cfg.Answers = map[string]map[uint64][]uint64{"cpuid": {1: {0x10676, 0, 0, 0}}}
	if _, err := (pc.Legacy{}).Firmware(&cfg, 2); err == nil {
		t.Error("several CPUs without local APICs")
	}
}

func sum(b []byte) (s byte) {
	for _, v := range b {
		s += v
	}
	return s
}
