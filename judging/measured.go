package judging

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// perCopies is how many copies of a block a figure of a list is for.
const perCopies = 100

// ReadMeasured reads blocks with their times, one a line: the bytes in hexadecimal, a comma and the cycles of a hundred
// copies, as BHive's lists have them. An empty line, and one that begins with #, is none.
func ReadMeasured(r io.Reader, source string) ([]*Block, error) {
	var blocks []*Block
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		b, err := measuredBlock(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w; a line has the bytes of a block in hexadecimal, a comma and the cycles of %d copies", source, n, err, perCopies)
		}
		b.Source = source
		blocks = append(blocks, b)
	}
	return blocks, lines.Err()
}

// measuredBlock reads a line. A block that is not judged here has no class.
func measuredBlock(line string) (*Block, error) {
	bytes, cycles, ok := strings.Cut(line, ",")
	if !ok {
		return nil, fmt.Errorf("no comma in %.40q", line)
	}
	code, err := hex.DecodeString(strings.TrimSpace(bytes))
	if err != nil {
		return nil, err
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(cycles), 64)
	if err != nil || !(v > 0) || math.IsInf(v, 0) {
		return nil, fmt.Errorf("%.40q is no number of cycles", cycles)
	}
	// a block of any length is taken, but only as a whole
	b := &Block{Code: code, Native: v / perCopies}
	if p := parse(code, 1, len(code)); p != nil && len(p.Code) == len(code) {
		p.Native = b.Native
		b = p
	}
	return b, nil
}
