package measuring

import (
	"encoding/binary"
	"fmt"

	"kprobesim/distro"
	"kprobesim/distro/attaching"
)

// tool starts the tool of an order, waits for it, and lists what it has loaded. A tool that has loaded nothing is an error with what
// it has printed.
func (s *session) tool(o *Command) error {
	if o.Tool == nil {
		return nil
	}
	starts := &Command{Args: append([]string{distro.BackgroundPath}, o.Tool...), Env: o.Env}
	order := starts.encode()
	if err := s.give([]command{order}); err != nil {
		return err
	}
	for _, m := range append(markers[1:], markers[0]) {
		if err := s.until(m); err != nil {
			return err
		}
	}
	said, err := s.answers([]command{order})
	if err != nil {
		return err
	}
	if err := Status(binary.LittleEndian.Uint32(said[0])).Err(); err != nil {
		return fmt.Errorf("%s: %w", distro.BackgroundPath, err)
	}
	if _, err := s.do(numbers(sleep, "sleep", o.Settle)); err != nil {
		return err
	}
	all, err := attaching.Loaded(guest{session: s})
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return s.useless(o)
	}
	if o.Attached != nil {
		o.Attached(&attaching.Attached{Programs: all})
	}
	return nil
}

// useless says of a tool that it has loaded nothing.
func (s *session) useless(o *Command) error {
	out := &Outcome{Refused: refusals(s.m)}
	var err error
	if out.Output, _, err = s.read("/.background"); err != nil {
		return err
	}
	return fmt.Errorf("%s has loaded no program of BPF within %d ms%s; it has printed:\n%s", o.Tool[0], o.Settle, out.unmodelled(), out.said())
}
