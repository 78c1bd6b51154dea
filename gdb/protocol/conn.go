package protocol

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"
)

// MaxPacket bounds the payload of a packet in bytes, in both directions.
const MaxPacket = 1 << 16

// ErrInterrupt is returned by Receive for the byte by which gdb asks a running target to stop.
var ErrInterrupt = errors.New("interrupt")

// interrupt is that byte, outside of packets (section "Interrupts").
const interrupt = 0x03

// Conn is a connection with gdb. One goroutine may receive while another one sends.
type Conn struct {
	r *bufio.Reader

	mu    sync.Mutex
	w     io.Writer
	last  []byte // the last packet, to be sent again
	quiet bool   // no packet is acknowledged any more
}

// New returns a connection over a stream of bytes in both directions.
func New(rw io.ReadWriter) *Conn { return &Conn{r: bufio.NewReader(rw), w: rw} }

// Quiet ends acknowledgements, as QStartNoAckMode asks for.
func (c *Conn) Quiet() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quiet = true
}

// Receive returns the payload of the next packet that is whole, or ErrInterrupt. Packets with a wrong sum are asked for
// again. Bytes outside of packets are left out.
func (c *Conn) Receive() ([]byte, error) {
	for {
		b, err := c.r.ReadByte()
		if err != nil {
			return nil, err
		}
		switch b {
		case interrupt:
			return nil, ErrInterrupt
		case '-':
			err = c.again()
		case '$':
			payload, whole, failed := c.payload()
			switch {
			case failed != nil:
				return nil, failed
			case whole:
				return payload, c.acknowledge("+")
			}
			err = c.acknowledge("-")
		}
		if err != nil {
			return nil, err
		}
	}
}

// payload reads the rest of a packet. It reports whether the packet is whole: its sum is right, and it is not too long.
func (c *Conn) payload() (payload []byte, whole bool, err error) {
	sum, escaped, size := byte(0), false, 0
	for {
		b, err := c.r.ReadByte()
		if err != nil {
			return nil, false, err
		}
		if b == '#' {
			break
		}
		sum += b
		if size++; size > MaxPacket {
			continue
		}
		switch {
		case escaped:
			payload, escaped = append(payload, b^0x20), false
		case b == '}':
			escaped = true
		default:
			payload = append(payload, b)
		}
	}
	var digits [2]byte
	if _, err := io.ReadFull(c.r, digits[:]); err != nil {
		return nil, false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	right := fmt.Sprintf("%02x", sum) == string(digits[:])
	return payload, size <= MaxPacket && (right || c.quiet), nil
}

// acknowledge tells gdb that a packet came well or not.
func (c *Conn) acknowledge(sign string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.quiet {
		return nil
	}
	_, err := io.WriteString(c.w, sign)
	return err
}

// again sends the last packet once more.
func (c *Conn) again() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.w.Write(c.last)
	return err
}

// Send sends a packet.
func (c *Conn) Send(payload string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = frame(payload)
	_, err := c.w.Write(c.last)
	return err
}

// frame puts a payload between its marks. Bytes with a meaning are escaped (section "Overview").
func frame(payload string) []byte {
	out, sum := []byte{'$'}, byte(0)
	add := func(b byte) {
		out = append(out, b)
		sum += b
	}
	for i := range len(payload) {
		switch b := payload[i]; b {
		case '#', '$', '}', '*':
			add('}')
			add(b ^ 0x20)
		default:
			add(b)
		}
	}
	return fmt.Appendf(out, "#%02x", sum)
}
