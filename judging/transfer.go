package judging

import "kprobesim/internal/native"

// Lines of Transfer: a line in so many bytes, because prefetchers send for neighbours, so many times.
const (
	transferLines  = 128
	transferApart  = 4 * line
	transferRounds = 50
)

// Transfers is how many lines a program of Transfer takes.
const Transfers = transferLines * transferRounds

// request is a word of the control page: with one of these numbers the processor beside writes or reads the lines, and puts 0 there.
const (
	request = control + native.Ends + line
	writes  = 1
	reads   = 2
)

// Transfer is a program, and the job that it needs with a program on another processor. That one writes all lines of a chain. Then this one
// loads them, one behind the other, and returns what that took by the time-stamp counter. With upgrades both load them
// once more, and what counts is by how much locked operations take longer then than on lines of its own.
func Transfer(upgrades bool, processor int) ([]byte, *native.Job) {
	load := Hex("488b3f") // mov (%rdi),%rdi
	a := &assembler{}
	a.Write(Hex("31db"))                 // xor %ebx,%ebx
	a.word([]byte{0xbe}, transferRounds) // mov $rounds,%esi
	round := a.Len()
	a.ask(writes)
	a.walk(load, !upgrades, true)
	if upgrades {
		a.ask(reads)
		a.walk(load, false, true)
		locked := append(Hex("f0804f0800"), load...) // lock orb $0,8(%rdi)
		a.walk(locked, true, true)
		a.walk(locked, true, false)
	}
	a.Write(Hex("ffce"))              // dec %esi
	a.back([]byte{0x0f, 0x85}, round) // jnz
	a.Write(Hex("4889d8c3"))          // mov %rbx,%rax; ret
	return a.Bytes(), &native.Job{
		Chains: []native.Chain{{At: chainAt, Size: transferLines * transferApart, Step: transferApart, Large: true}},
		Beside: &native.Beside{Program: serves(load), Processor: processor}, Passes: passes, Repeats: repeats,
	}
}

// serves is the program of the processor beside.
func serves(load []byte) []byte {
	a := &assembler{}
	a.compare(control+native.Ends, native.Ended)
	a.Write(Hex("7501c3f390")) // jne over ret; pause
	for _, x := range []struct {
		what byte
		code []byte
	}{{writes, Hex("488b07" + "488907" + "4889c7")}, {reads, load}} { // mov (%rdi),%rax; mov %rax,(%rdi); mov %rax,%rdi
		a.compare(request, x.what)
		walk := &assembler{}
		walk.walk(x.code, false, false)
		walk.Write(Hex("0faef0"))                       // mfence
		walk.word([]byte{0xc7, 0x04, 0x25}, request, 0) // movl
		a.word([]byte{0x0f, 0x85}, uint32(walk.Len()))  // jne behind it
		a.Write(walk.Bytes())
	}
	a.back([]byte{0xe9}, 0)
	return a.Bytes()
}

// ask has the processor beside do something, and waits for it.
func (a *assembler) ask(what uint32) {
	a.word([]byte{0xc7, 0x04, 0x25}, request, what) // movl
	wait := a.Len()
	a.Write(Hex("f390")) // pause
	a.compare(request, 0)
	a.back([]byte{0x0f, 0x85}, wait) // jne
}

// compare compares a word of memory with a small number.
func (a *assembler) compare(at uint32, with byte) {
	a.word([]byte{0x83, 0x3c, 0x25}, at) // cmpl
	a.WriteByte(with)
}

// back appends a jump to a place before it.
func (a *assembler) back(opcode []byte, to int) {
	a.word(opcode, uint32(to-a.Len()-len(opcode)-4))
}

// walk executes code for each line, which leaves the next one in RDI. Timed adds to RBX what that took, or takes it away.
func (a *assembler) walk(code []byte, timed, adds bool) {
	ends := [2][]byte{Hex("4829c3"), Hex("4801c3")} // sub %rax,%rbx; add
	if !adds {
		ends[0], ends[1] = ends[1], ends[0]
	}
	a.Write(LoadPointer(7, 0))
	if timed {
		a.stamp()
		a.Write(ends[0])
	}
	a.word([]byte{0xb9}, transferLines) // mov $lines,%ecx
	loop := a.Len()
	a.Write(code)
	a.Write(Hex("ffc9")) // dec %ecx
	a.back([]byte{0x0f, 0x85}, loop)
	if timed {
		a.stamp()
		a.Write(ends[1])
	}
}
