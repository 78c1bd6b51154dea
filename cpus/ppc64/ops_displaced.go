package ppc64

import "encoding/binary"

// The most frequent loads and stores, whose operand is at a displacement from RA. They do the frequent case of an access
// in line, and leave all others to the functions of the forms with an index.

// displaced is the effective address of such an operand.
func (c *CPU) displaced(in *inst) uint64 { return (c.R[in.a&63] + in.imm) & c.AddrMask }

func lbz(c *CPU, in *inst) {
	at, pa, rare := c.LoadPlace(c.displaced(in), 1)
	if rare != 0 {
		lbzx(c, in)
		return
	}
	c.R[in.dst&63] = uint64(*(*uint8)(at))
	if !c.Reads(pa) {
		c.Bring(pa, 1, 0)
	} else if c.MayFind(pa, 1) {
		c.Find(pa, 1)
	}
}

func lwz(c *CPU, in *inst) {
	at, pa, rare := c.LoadPlace(c.displaced(in), 4)
	if rare != 0 {
		lwzx(c, in)
		return
	}
	v := binary.BigEndian.Uint32((*[4]byte)(at)[:])
	c.R[in.dst&63] = uint64(v)
	if !c.Reads(pa) {
		c.Bring(pa, 4, uint64(v))
	} else if c.MayFind(pa, 4) {
		c.Find(pa, 4)
	}
}

func ld(c *CPU, in *inst) {
	at, pa, rare := c.LoadPlace(c.displaced(in), 8)
	if rare != 0 {
		ldx(c, in)
		return
	}
	v := binary.BigEndian.Uint64((*[8]byte)(at)[:])
	c.R[in.dst&63] = v
	if !c.Reads(pa) {
		c.Bring(pa, 8, v)
	} else if c.MayFind(pa, 8) {
		c.Find(pa, 8)
	}
}

func stw(c *CPU, in *inst) {
	at, pa, rare := c.StorePlace(c.displaced(in), 4)
	if rare != 0 || !c.Writes(pa) {
		stwx(c, in)
		return
	}
	binary.BigEndian.PutUint32((*[4]byte)(at)[:], uint32(c.R[in.s&63]))
	if c.Decoded(pa) {
		c.DropStored(pa, 4)
	} else if c.Sends() {
		c.Send(pa, 4)
	}
}

func std(c *CPU, in *inst) {
	at, pa, rare := c.StorePlace(c.displaced(in), 8)
	if rare != 0 || !c.Writes(pa) {
		stdx(c, in)
		return
	}
	binary.BigEndian.PutUint64((*[8]byte)(at)[:], c.R[in.s&63])
	if c.Decoded(pa) {
		c.DropStored(pa, 8)
	} else if c.Sends() {
		c.Send(pa, 8)
	}
}

// stdu is mostly the beginning of a stack frame.
func stdu(c *CPU, in *inst) {
	to := c.R[in.a&63] + in.imm
	at, pa, rare := c.StorePlace(to&c.AddrMask, 8)
	if rare != 0 || !c.Writes(pa) {
		stdux(c, in)
		return
	}
	binary.BigEndian.PutUint64((*[8]byte)(at)[:], c.R[in.s&63])
	c.R[in.a&63] = to
	if c.Decoded(pa) {
		c.DropStored(pa, 8)
	} else if c.Sends() {
		c.Send(pa, 8)
	}
}
