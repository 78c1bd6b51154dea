package protocol

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"kprobesim/internal/require"
)

// wire is a stream whose two directions are apart.
type wire struct {
	io.Reader
	io.Writer
}

// received returns what a stream of bytes holds and what is sent back.
func received(t *testing.T, stream string) (packets []string, back string) {
	t.Helper()
	var sent bytes.Buffer
	c := New(wire{bytes.NewReader([]byte(stream)), &sent})
	for {
		p, err := c.Receive()
		switch {
		case errors.Is(err, ErrInterrupt):
			packets = append(packets, "^C")
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return packets, sent.String()
		case err != nil:
			t.Fatal(err)
		default:
			packets = append(packets, string(p))
		}
	}
}

func TestFramesOfTheManual(t *testing.T) {
	for _, c := range []struct {
		name, stream, back string
		want               []string
	}{
		{"a packet", "$g#67", "+", []string{"g"}},
		{"noise around it", "++x$g#67y", "+", []string{"g"}},
		{"a wrong sum", "$g#66$g#67", "-+", []string{"g"}},
		{"an escaped byte", "$X}\x03#d8", "+", []string{"X#"}},
		{"an interrupt", "\x03$g#67", "+", []string{"^C", "g"}},
		{"a packet that is cut off", "$g#6", "", nil},
		{"no end", "$" + string(make([]byte, MaxPacket+10)), "", nil},
		{"too long", "$" + string(make([]byte, MaxPacket+10)) + "#00$g#67", "-+", []string{"g"}},
	} {
		got, back := received(t, c.stream)
		require.That(t, len(got) == len(c.want) && back == c.back && (len(got) <= 0 || got[0] == c.want[0]), "%s: received %q and answered %q, want %q and %q", c.name, got, back, c.want, c.back)
	}
}

// TestLastPacketIsSentAgain holds the answer to a packet that did not come well.
func TestLastPacketIsSentAgain(t *testing.T) {
	var sent bytes.Buffer
	c := New(wire{bytes.NewReader([]byte("-+")), &sent})
	require.NoError(t, c.Send("OK"))
	_, err := c.Receive()
	require.That(t, errors.Is(err, io.EOF) && sent.String() == "$OK#9a$OK#9a", "sent %q, %v; want the packet twice", sent.String(), err)
}

// FuzzFrames holds that no stream of bytes is more than packets and noise, and that every payload comes as it was sent.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("$g#67\x03-+$m0,4#fd"))
	f.Add([]byte("}#$*"))
	f.Fuzz(func(t *testing.T, b []byte) {
		received(t, string(b))
		if len(b) > MaxPacket/2 {
			return
		}
		got, _ := received(t, string(frame(string(b))))
		require.That(t, len(got) == 1 && got[0] == string(b), "sent %q, received %q", b, got)
	})
}
