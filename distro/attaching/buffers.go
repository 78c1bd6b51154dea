package attaching

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/cilium/ebpf"
)

// buffers makes a perf event array, with a buffer for each processor. Nobody reads them: they are mapped so that they cannot be
// written, and the kernel then overwrites what is old.
func (l *loader) buffers(name string, s *ebpf.MapSpec) error {
	n, err := processors(l)
	if err != nil {
		return err
	}
	attr := make(fields, 72)
	attr.u32(0, uint32(s.Type))
	attr.u32(4, 4)
	attr.u32(8, 4)
	attr.u32(12, uint32(n))
	fd, err := bpf(l, "create the map "+name, mapCreate, l.Memory(), attr)
	if err != nil {
		return err
	}
	l.maps[name] = descriptor(fd)
	for cpu := range uint32(n) {
		event, err := l.buffer(name, cpu)
		if err != nil {
			return err
		}
		value := binary.LittleEndian.AppendUint32(nil, event)
		if err := l.put(name, uint32(fd), ebpf.MapKV{Key: cpu, Value: value}); err != nil {
			return err
		}
	}
	return nil
}

// buffer opens the event by which programs write to the buffer of a processor. Each record wakes a reader, as with libbpf.
func (l *loader) buffer(name string, cpu uint32) (uint32, error) {
	const (
		size, software, output, raw = 112, 1, 10, 1 << 10 // PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT, PERF_SAMPLE_RAW
		pages, read, shared         = 1 + 64, 1, 1
	)
	m, attr := l.Memory(), make(fields, size)
	attr.u32(0, software)
	attr.u32(4, size)
	attr.u64(8, output)
	attr.u64(16, 1)
	attr.u64(24, raw)
	attr.u32(48, 1)
	what := fmt.Sprintf("open a buffer of the map %s", name)
	fd, err := call(l, what, callPerfEventOpen, m, m.put(attr), ^uint64(0), uint64(cpu), ^uint64(0), 0)
	if err != nil {
		return 0, err
	}
	_, err = call(l, what, callMmap, l.Memory(), 0, pages*page, read, shared, uint64(fd), 0)
	return uint32(fd), err
}

// processors is how many there are, or may come to be.
func processors(g Guest) (int, error) {
	text, err := g.ReadFile("/sys/devices/system/cpu/possible")
	if err != nil {
		return 0, err
	}
	var last int
	if _, err := fmt.Sscanf(text[strings.LastIndex(text, "-")+1:], "%d", &last); err != nil {
		return 0, fmt.Errorf("the kernel's list of processors is %q", text)
	}
	return last + 1, nil
}
