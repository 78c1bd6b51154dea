package measuring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"kprobesim/distro/attaching"
)

// kind says what the program is ordered to do, numbered as in measure.c.
type kind uint32

const (
	writeFile kind = 1 + iota
	showFile
	insertModule
	openEvent
	readEvents
	sleep
	run
	pin
	keepBusy
	systemCall
	runCommand
)

// command is one order for the program.
type command struct {
	kind kind
	data []byte
	what string // for errors
}

// write writes a text to a file, as `echo >>` does.
func write(path, text string) command {
	return command{writeFile, []byte(path + "\x00" + text + "\x00"), fmt.Sprintf("write %q to %s", text, path)}
}

// show reads a file.
func show(path string) command {
	return command{showFile, []byte(path + "\x00"), "read " + path}
}

// insert inserts a module.
func insert(m Module) command {
	params := append([]byte(m.Params), 0)
	return command{insertModule, append(padded(params), m.File...), "insert the module " + m.Name}
}

// numbers is an order whose data are numbers of four bytes.
func numbers(k kind, what string, n ...int) command {
	var b []byte
	for _, v := range n {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return command{k, b, what}
}

// padded fills up to a multiple of 8 bytes.
func padded(b []byte) []byte { return append(b, make([]byte, -len(b)&7)...) }

// encode lays orders out as the program reads them: kind and size, what follows, and at the end a kind of 0.
func encode(commands []command) []byte {
	var b []byte
	for _, c := range commands {
		b = binary.LittleEndian.AppendUint32(b, uint32(c.kind))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(c.data)))
		b = padded(append(b, c.data...))
	}
	return append(b, make([]byte, 8)...)
}

// decode reads the answers of the program. It fails with the error number of the order that failed.
func decode(b []byte, commands []command) ([][]byte, error) {
	out := make([][]byte, len(commands))
	for i, c := range commands {
		if len(b) < 8 {
			return nil, errors.New("the answers of the program end too soon")
		}
		result, size := int32(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[4:]))
		if result < 0 {
			return nil, fmt.Errorf("the kernel refused to %s: error %s", c.what, attaching.Errno(int(-result)))
		}
		if size > uint64(len(b)-8) {
			return nil, errors.New("an answer of the program is larger than its memory")
		}
		out[i] = b[8 : 8+size]
		b = b[min(uint64(len(b)), 8+(size+7)&^7):]
	}
	return out, nil
}

// lines are the lines of an answer, by fields.
func lines(b []byte) (out [][]string) {
	for l := range strings.Lines(string(b)) {
		if f := strings.Fields(l); len(f) > 0 {
			out = append(out, f)
		}
	}
	return out
}
