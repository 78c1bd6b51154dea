package arm

// Encoding is a group of words that are one instruction, for who has to treat every instruction.
type Encoding struct {
	Name        string
	Mask, Value uint32 // a word of it has the bits of Value where Mask has any
	Conditional bool   // bits 28 to 31 are a condition, and are not 15
}

// Encodings lists what is decoded. Where several encodings have a word, the one with the most bits in its mask is
// meant.
func Encodings() []Encoding {
	out := make([]Encoding, len(rows))
	for i, r := range rows {
		out[i] = Encoding{r.name, r.mask, r.value, !r.unconditional()}
	}
	return out
}

// Named returns the name of the instruction that a word is, or "" for an undefined one. What the manual leaves
// unpredictable is undefined here.
func Named(word uint32) string {
	r := find(word)
	if r == nil {
		return ""
	}
	d := newDecoder(word, 0)
	d.op.Class, d.op.Flags, d.exec = r.class, r.flags, r.exec
	if !r.form(&d, r) {
		return ""
	}
	return r.name
}
