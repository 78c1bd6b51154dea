package races

// class says why the checker looks at an instruction.
type class uint8

// The classes of code.
const (
	plainCode   class = iota
	textCode          // a function that is probed or called
	slotCode          // out-of-line slots
	detourCode        // detour buffers
	storeCode         // stores into text
	returnCode        // the end of a call
	handlerCode       // the begin of a handler, which may be a probed function too
	spinCode          // a loop that waits
	stepCode          // ends the step of an instruction of user mode
	sharedCode        // changes what several CPUs write at a time without a lock
)

// span is a range of addresses, the second one excluded.
type span [2]uint64

func (s span) contains(pc uint64) bool { return pc-s[0] < s[1]-s[0] }

// codeMap says of addresses what class of code is there: a byte for each byte of the kernel's text, two ranges for slots
// and detour buffers, which may lie elsewhere, and a list of what else lies elsewhere.
type codeMap struct {
	base  uint64 // of the text
	of    []class
	pools [2]span     // slots and detour buffers
	apart []part      // what lies outside of the text
	spans [][2]uint64 // all that is of a class
}

// part is code of one class outside of the kernel's text: what no hit of a probe executes, and user mode.
type part struct {
	span
	class
}

func newCodeMap(text span) codeMap {
	return codeMap{base: text[0], of: make([]class, text[1]-text[0])}
}

// at is the class of an address.
// It is asked for every observed instruction, hence a table.
func (m *codeMap) at(pc uint64) class {
	if i := pc - m.base; i < uint64(len(m.of)) {
		return m.of[i]
	}
	for i, p := range m.pools {
		if p.contains(pc) {
			return slotCode + class(i)
		}
	}
	for i := len(m.apart) - 1; i >= 0; i-- {
		if m.apart[i].contains(pc) {
			return m.apart[i].class
		}
	}
	return plainCode
}

// mark gives a range of addresses a class.
// A later mark counts where two overlap.
func (m *codeMap) mark(c class, s span) {
	m.spans = append(m.spans, s)
	if c == slotCode || c == detourCode {
		m.pools[c-slotCode] = s
		return
	}
	if s[0]-m.base >= uint64(len(m.of)) {
		m.apart = append(m.apart, part{s, c})
		return
	}
	for pc := s[0]; pc < s[1]; pc++ {
		m.of[pc-m.base] = c
	}
}

// hot reports whether the code at an address matters: it may be patched, or it patches, or it tells
// what a caller does.
func (m *codeMap) hot(pc uint64) bool {
	c := m.at(pc)
	return c != plainCode && c != spinCode
}
