package keeping

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"kprobesim/results/outdir"
)

// Key identifies a piece of work by the hash of all that its outcome follows from.
type Key = [sha256.Size]byte

// header stands in front of each record of a log. Sum is that of the body, Check that of the header. So a reader finds the
// next record behind one that is damaged, and a tail that was cut off costs the last record alone.
type header struct {
	Magic [4]byte
	Size  uint32 // of the body
	Key   Key    // zero for the order that a log begins with
	Sum   [sha256.Size]byte
	Check uint32
}

var (
	magic      = [4]byte{'k', 'p', 's', 1}
	headerSize = binary.Size(header{})
)

// encode returns a record as it stands in a log.
func encode(key Key, body []byte) []byte {
	h := header{Magic: magic, Size: uint32(len(body)), Key: key, Sum: sha256.Sum256(body)}
	b, _ := binary.Append(nil, binary.LittleEndian, &h) // fails for types without a size alone
	check := b[:headerSize-4]
	return append(binary.LittleEndian.AppendUint32(check, crc32.ChecksumIEEE(check)), body...)
}

// readHeader reads a header, which may be none.
func readHeader(b []byte) (h header, ok bool) {
	if len(b) < headerSize || [4]byte(b) != magic {
		return h, false
	}
	_, err := binary.Decode(b, binary.LittleEndian, &h)
	return h, err == nil && h.Check == crc32.ChecksumIEEE(b[:headerSize-4])
}

// place is where a record stands.
type place struct {
	log  int
	at   int64
	size int // of header and body
}

// logs holds the append-only files of a folder. Each process that keeps something there has a file of its own, so no two
// write one file, whatever the file system knows of locks.
type logs struct {
	dir string

	mu    sync.Mutex
	files []string
	known map[Key][]place // the latest last
	open  map[int]*os.File
	torn  []string // files that end in the middle of a record
	own   *os.File // nil until something is kept
	end   int64    // of own
}

// mostOpen bounds the files that are open for reading.
const mostOpen = 200

// extension of a log's name. Names begin with the time, so that a later record stands in a later file.
const extension = ".log"

// readLogs finds the records in the files of a folder, which need not be there, in the order of their names.
func readLogs(dir string) (*logs, error) {
	l := &logs{dir: dir, known: map[Key][]place{}, open: map[int]*os.File{}}
	files, err := outdir.Find(dir, "*"+extension)
	for _, file := range files {
		err = errors.Join(err, l.index(file))
	}
	return l, err
}

// index adds the records of a file.
func (l *logs) index(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	n := len(l.files)
	l.files = append(l.files, file)
	whole, err := scan(f, func(h header, at int64) {
		l.known[h.Key] = append(l.known[h.Key], place{n, at, headerSize + int(h.Size)})
	})
	if !whole {
		l.torn = append(l.torn, file)
	}
	return errors.Join(err, f.Close())
}

// atOnce is how many bytes of a log are read together.
const atOnce = 1 << 16

// scan finds the records of a log, and reports whether it consists of nothing else.
func scan(f io.Reader, found func(h header, at int64)) (whole bool, err error) {
	r := bufio.NewReaderSize(f, atOnce)
	for at, whole := int64(0), true; ; {
		b, err := r.Peek(headerSize)
		if errors.Is(err, io.EOF) {
			return whole && len(b) == 0, nil
		}
		if err != nil {
			return false, err
		}
		h, ok := readHeader(b)
		n := 1
		if ok {
			n = headerSize + int(h.Size)
		}
		switch _, err := r.Discard(n); {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		case ok:
			found(h, at)
		}
		at, whole = at+int64(n), whole && ok
	}
}

// get calls f with the whole records of a key, the latest first, until f returns true.
func (l *logs) get(key Key, f func(body []byte) bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range slices.Backward(l.known[key]) {
		switch body, err := l.body(key, p); {
		case errors.Is(err, errDamaged):
		case err != nil:
			return err
		case f(body):
			return nil
		}
	}
	return nil
}

// errDamaged is the error of a record that is not as it was written.
var errDamaged = errors.New("a record is damaged")

// body reads what is kept at a place.
func (l *logs) body(key Key, p place) ([]byte, error) {
	file, err := l.reader(p.log)
	if err != nil {
		return nil, err
	}
	b := make([]byte, p.size)
	if _, err = file.ReadAt(b, p.at); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	h, ok := readHeader(b)
	if err != nil || !ok || h.Key != key || sha256.Sum256(b[headerSize:]) != h.Sum {
		return nil, errDamaged
	}
	return b[headerSize:], nil
}

// reader opens a log for reading.
func (l *logs) reader(n int) (*os.File, error) {
	if f := l.open[n]; f != nil {
		return f, nil
	}
	if len(l.open) == mostOpen {
		if err := l.closeReaders(); err != nil {
			return nil, err
		}
	}
	f, err := os.Open(l.files[n])
	if err == nil {
		l.open[n] = f
	}
	return f, err
}

func (l *logs) closeReaders() (err error) {
	for _, f := range l.open {
		err = errors.Join(err, f.Close())
	}
	clear(l.open)
	return err
}

// put appends a record to the file of this process, which begins with an order. A record that was not written whole is cut off.
func (l *logs) put(key Key, body, order []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own == nil {
		if err := l.create(order); err != nil {
			return err
		}
	}
	return l.append(key, body)
}

// sign leaves a file that says what was asked for, unless there is one. A shard whose pieces others have kept leaves nothing else.
func (l *logs) sign(order []byte) error {
	signed := false
	if err := l.get(Key{}, func(body []byte) bool { signed = bytes.Equal(body, order); return signed }); err != nil || signed {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.create(order)
}

func (l *logs) append(key Key, body []byte) error {
	b := encode(key, body)
	if _, err := l.own.Write(b); err != nil {
		return errors.Join(err, l.own.Truncate(l.end))
	}
	l.known[key] = append(l.known[key], place{len(l.files) - 1, l.end, len(b)})
	l.end += int64(len(b))
	return nil
}

// create makes the file of this process.
func (l *logs) create(order []byte) error {
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return err
	}
	name := fmt.Sprintf("%016x-%016x%s", time.Now().UnixNano(), rand.Uint64(), extension)
	f, err := os.OpenFile(filepath.Join(l.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	l.own, l.files = f, append(l.files, f.Name())
	return l.append(Key{}, order)
}

// close ends reading and writing.
func (l *logs) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.closeReaders()
	if l.own != nil {
		err = errors.Join(err, l.own.Close())
		l.own = nil
	}
	return err
}
