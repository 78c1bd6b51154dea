package describing

import (
	"bytes"
	"errors"
	"fmt"

	"kprobesim/internal/doc"
	"kprobesim/judging"
)

// loads measures how loads of a cycle get into each other's way, on a core that is described by its pipes.
func (d *Describer) loads() error {
	if d.node("back_end") == nil {
		return nil
	}
	same, err := d.timeLoads(0)
	if err != nil {
		return d.open("back_end.load_column", err)
	}
	if err := d.columns(same); err != nil {
		return err
	}
	return errors.Join(d.splitLoads(same), d.forwards())
}

// furthest is the bytes from one load to the next that no column has.
const furthest = 32

// loadsTimed are the loads of a copy, which take a cycle each if a cycle has one of them.
const loadsTimed = 6

// timeLoads times six loads that read two places in turns, so many bytes apart.
func (d *Describer) timeLoads(apart byte) (float64, error) { return d.timeLoadsAt(0, apart) }

// timeLoadsAt is timeLoads of two places: mov first(%r8),%eax; mov second(%r8),%ecx and so on.
func (d *Describer) timeLoadsAt(first, second byte) (float64, error) {
	var code bytes.Buffer
	for i, register := range []byte{0, 1, 2, 3, rsi, rdi} {
		code.Write([]byte{0x41, 0x8b, 0x40 | register<<3, []byte{first, second}[i&1]})
	}
	return d.timeTouching(code.Bytes())
}

// timeTouching times code with the pages that it touches.
func (d *Describer) timeTouching(code []byte) (float64, error) {
	m, err := d.Read(d.Root)
	if err != nil {
		return 0, err
	}
	pages, err := judging.NewPricer(&m.CPU).Pages(code)
	if err != nil {
		return 0, err
	}
	return d.time(code, pages)
}

// clearly is how much longer loads take that wait for each other.
const clearly = 1.2

// columns finds the bytes of a column of which two loads a cycle read one.
func (d *Describer) columns(same float64) error {
	apart, err := d.timeLoads(furthest)
	if err != nil {
		return d.open("back_end.load_column", err)
	}
	if same <= clearly*apart {
		remove(d.node("back_end"), "load_column")
		d.source(fmt.Sprintf("six loads of one place take %.2f cycles and of two places %.2f", same, apart), "back_end")
		return nil
	}
	for column := byte(4); column < furthest; column *= 2 {
		v, err := d.timeLoads(column)
		if err != nil {
			return d.open("back_end.load_column", err)
		}
		if v <= clearly*apart {
			how := fmt.Sprintf("six loads of one place take %.2f cycles, of two places %d bytes apart %.2f", same, column, v)
			d.measured(integer(int(column)), how, "back_end", "load_column")
			return nil
		}
	}
	return d.open(fmt.Sprintf("back_end.load_column: six loads of one place take %.2f cycles, of two places %.2f, and no column explains it", same, apart), nil)
}

// splitLoads finds out whether a load of two lines takes its pipe twice, and whether a cycle has several such loads.
func (d *Describer) splitLoads(same float64) error {
	const behind = 64 - 2 // its four bytes lie in two lines
	v, err := d.timeLoadsAt(behind, behind)
	if err != nil {
		return d.open("back_end.split_twice", err)
	}
	how := fmt.Sprintf("six loads of two lines take %.2f cycles, of one line %.2f", v, same)
	if v > clearly*same {
		d.measured(&doc.Node{Kind: doc.Bool, Text: "true"}, how, "back_end", "split_twice")
		if remove(d.node("back_end"), "split_overlap"); clearly*v < loadsTimed {
			d.measured(&doc.Node{Kind: doc.Bool, Text: "true"}, how, "back_end", "split_overlap")
		}
		return nil
	}
	remove(d.node("back_end"), "split_twice", "split_overlap")
	d.source(how, "back_end")
	return nil
}

// forwards finds out whether a store hands over bytes behind its first one: mov %rax,8(%rdi); mov 12(%rdi),%eax. A load that begins
// before the store waits in any case.
func (d *Describer) forwards() error {
	var took [2]float64
	for i, from := range []byte{12, 6} {
		var err error
		if took[i], err = d.timeTouching([]byte{0x48, 0x89, 0x47, 8, 0x8b, 0x47, from}); err != nil {
			return d.open("back_end.forwards_inside", err)
		}
	}
	how := fmt.Sprintf("a load inside a store takes %.2f cycles, one that begins before it %.2f", took[0], took[1])
	if took[1] > clearly*took[0] {
		d.measured(&doc.Node{Kind: doc.Bool, Text: "true"}, how, "back_end", "forwards_inside")
		return nil
	}
	remove(d.node("back_end"), "forwards_inside")
	d.source(how, "back_end")
	return nil
}
