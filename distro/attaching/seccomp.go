package attaching

// seccomp has the kernel ask a filter of classic BPF at each system call of the guest's program. It allows every call. One
// that looks at an argument is executed each time. Of one that looks at nothing the kernel sees beforehand what it says, and
// keeps that by the number of the call.
func (a *attacher) seccomp() error {
	const (
		load, unequal, give = 0x20, 0x15, 0x06 // of linux/filter.h: a word; a jump if it equals; the end
		argument            = 16               // offset of the first one in struct seccomp_data
		allow, setFilter    = 0x7fff0000, 1
	)
	m := a.Memory()
	var code fields
	add := func(op uint16, equal, other byte, k uint32) {
		one := make(fields, 8)
		one.u16(0, op)
		one[2], one[3] = equal, other
		one.u32(4, k)
		code = append(code, one...)
	}
	if a.Way == Seccomp {
		add(load, 0, 0, argument)
		add(unequal, 0, 0, 1) // goes on with the end, whatever the argument is
	}
	add(give, 0, 0, allow)
	filter := make(fields, 16) // struct sock_fprog has a pointer in its second word
	filter.u16(0, uint16(len(code)/8))
	filter.u64(machineOf(a.Machine()).word, m.put(code))
	_, err := call(a, a.what, callSeccomp, m, setFilter, 0, m.put(filter))
	return err
}
