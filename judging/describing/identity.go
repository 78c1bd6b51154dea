package describing

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"kprobesim/cpus/x86"
	"kprobesim/internal/doc"
)

// identity names the processor.
type identity struct {
	host          Host
	vendor, brand string
	family, model int
}

// leaf returns eax, ebx, ecx and edx of a leaf of CPUID.
func leaf(h Host, n, sub uint32) (r [4]uint32, err error) {
	ask := binary.LittleEndian.AppendUint32([]byte{0xb8}, n)                           // mov $n,%eax
	ask = append(binary.LittleEndian.AppendUint32(append(ask, 0xb9), sub), 0x0f, 0xa2) // mov $sub,%ecx; cpuid
	low := append(append([]byte{}, ask...), 0x89, 0xc0, 0x48, 0xc1, 0xe3, 32, 0x48, 0x09, 0xd8, 0xc3)
	high := append(append([]byte{}, ask...), 0x89, 0xc8, 0x48, 0xc1, 0xe2, 32, 0x48, 0x09, 0xd0, 0xc3)
	v, err := h.Values(low, high)
	if err != nil {
		return r, err
	}
	return [4]uint32{uint32(v[0]), uint32(v[0] >> 32), uint32(v[1]), uint32(v[1] >> 32)}, nil
}

// identify asks the processor who it is (SDM vol. 2, CPUID; APM vol. 3, appendix E).
func identify(h Host) (id identity, err error) {
	id.host = h
	r, err := leaf(h, 0, 0)
	if err != nil {
		return id, err
	}
	b := binary.LittleEndian
	id.vendor = string(b.AppendUint32(b.AppendUint32(b.AppendUint32(nil, r[1]), r[3]), r[2]))
	if r, err = leaf(h, 1, 0); err != nil {
		return id, err
	}
	id.family, id.model = int(r[0]>>8&15), int(r[0]>>4&15)
	if id.family == 15 {
		id.family += int(r[0] >> 20 & 255)
	}
	if id.family >= 6 {
		id.model |= int(r[0] >> 12 & 0xf0)
	}
	var brand []byte
	for n := uint32(0x80000002); n <= 0x80000004; n++ {
		if r, err = leaf(h, n, 0); err != nil {
			return id, err
		}
		for _, v := range r {
			brand = b.AppendUint32(brand, v)
		}
	}
	id.brand = strings.Join(strings.Fields(strings.Trim(string(brand), "\x00 ")), " ")
	return id, nil
}

func (id identity) String() string {
	return fmt.Sprintf("%s, family %d model %d", id.brand, id.family, id.model)
}

// title is the name that tables have.
func (id identity) title() string { return fmt.Sprintf("%s (measured here)", id) }

// steady refuses a processor whose time-stamp counter follows its frequency or stops.
func (id identity) steady() error {
	if r, err := leaf(id.host, 0x80000000, 0); err != nil || r[0] < 0x80000007 {
		return errors.Join(errors.New("the processor does not say whether its time-stamp counter is steady, so nothing can be timed"), err)
	}
	r, err := leaf(id.host, 0x80000007, 0)
	if err == nil && r[3]&(1<<8) == 0 {
		err = errors.New("the time-stamp counter is not invariant (CPUID 80000007), so nothing can be timed")
	}
	return err
}

// Family is the name of the shipped description whose numbers stand in for what user mode cannot reach, "" for none.
func Family(h Host) (string, error) {
	id, err := identify(h)
	if err != nil {
		return "", err
	}
	if r, err := leaf(h, 7, 0); err == nil && id.vendor == "GenuineIntel" && r[3]>>tiles&1 != 0 {
		return "xeon-w7-2475x", nil // a hypervisor may tell another model
	}
	for _, f := range families {
		if f.vendor == id.vendor && f.family == id.family && f.first <= id.model && id.model <= f.last {
			return f.machine, nil
		}
	}
	return "", nil
}

// Suits refuses a description whose numbers cannot stand in for this host's.
func Suits(root *doc.Node) error {
	name, isa := root.Get("name"), root.Get("isa")
	if want := x86.ISA64().Name; isa == nil || isa.Text != want {
		return fmt.Errorf("%s does not describe a processor of %s, as which this host is measured", name.Text, want)
	}
	return nil
}

// tiles is the bit of CPUID 7 of registers that are matrices, which Golden Cove and its successors in servers have.
const tiles = 24

// families are the descriptions by vendor, family and models. The first row counts.
var families = []struct {
	vendor              string
	family, first, last int
	machine             string
}{
	{"AuthenticAMD", 23, 0, 255, "epyc-7742"},
	{"AuthenticAMD", 25, 0, 0x0f, "epyc-7713"},
	{"AuthenticAMD", 25, 0x20, 0x5f, "epyc-7713"},
	{"AuthenticAMD", 25, 0, 255, "epyc-9654"},
	{"AuthenticAMD", 26, 0, 255, "epyc-9654"},
	{"GenuineIntel", 6, 0x3c, 0x46, "xeon-e5-2630-v3"},
	{"GenuineIntel", 6, 0x4e, 0x5e, "core-i3-7100"},
	{"GenuineIntel", 6, 0x8f, 0x8f, "xeon-w7-2475x"},
	{"GenuineIntel", 6, 0x97, 0x9a, "xeon-w7-2475x"},
	{"GenuineIntel", 6, 0x8e, 0x9e, "core-i3-7100"},
	{"GenuineIntel", 6, 0xad, 0xff, "xeon-w7-2475x"},
	{"GenuineIntel", 6, 0x60, 0xff, "xeon-gold-6330"},
	{"GenuineIntel", 6, 0, 0x3b, "xeon-e5410"},
	{"AuthenticAMD", 15, 0, 255, "opteron-246"},
}
