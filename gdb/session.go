package gdb

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"kprobesim/gdb/protocol"
)

// session answers the packets of one gdb.
type session struct {
	conn    *protocol.Conn
	player  *player
	thread  int // CPU that packets about registers and memory mean
	stopped stop
	told    bool      // gdb knows that the run is over
	log     io.Writer // for the user of the command
	written bool
	ending  error // why the session is over
}

// errGone ends a session whose connection is lost.
var errGone = errors.New("gdb is gone")

// Endings of a session that are no failure.
var (
	errDetached = errors.New("gdb has let go")
	errKill     = errors.New("gdb has ended the run")
)

// Serve lets one gdb look at runs of a machine over a connection, until it lets go or is gone. In the first case the machine
// runs on to its end. It tells of what gdb changed on log. With toEnd gdb comes to the end of the run.
func Serve(rw io.ReadWriter, run Run, log io.Writer, toEnd bool) error {
	interrupts := make(chan struct{}, 1)
	s := &session{conn: protocol.New(rw), player: &player{run: run, breaks: map[uint64]bool{}, interrupt: interrupts}, log: log}
	if err := s.begin(toEnd); err != nil {
		return err
	}
	defer s.player.kill()
	packets, over := make(chan []byte), make(chan struct{})
	defer close(over)
	go s.receive(packets, interrupts, over)
	for s.ending == nil {
		p, more := <-packets
		if !more {
			return errGone
		}
		if reply, silent := s.answer(p); !silent {
			if err := s.conn.Send(reply); err != nil {
				return err
			}
		}
	}
	if errors.Is(s.ending, errDetached) {
		err := s.player.release()
		s.player.inst = nil
		return err
	}
	if errors.Is(s.ending, errKill) {
		return nil
	}
	return s.ending
}

// begin brings the machine to where gdb first sees it.
func (s *session) begin(toEnd bool) (err error) {
	if err = s.player.begin(); err != nil {
		return err
	}
	if toEnd {
		if s.stopped, err = s.player.forward(-1, false); err == nil {
			s.thread = s.stopped.cpu
			fmt.Fprintln(s.log, "the machine stands at the end: "+s.stopped.text)
		}
	}
	return err
}

// receive passes packets on, and interrupts at once.
func (s *session) receive(packets chan<- []byte, interrupts chan<- struct{}, over <-chan struct{}) {
	defer close(packets)
	for {
		p, err := s.conn.Receive()
		if err != nil {
			select {
			case interrupts <- struct{}{}: // a machine that runs for somebody who is gone stops
			default:
			}
			if errors.Is(err, protocol.ErrInterrupt) {
				continue
			}
			return
		}
		select {
		case packets <- p:
		case <-over:
			return
		}
	}
}

// answer returns the reply to a packet; "" says that it is not known.
func (s *session) answer(p []byte) (reply string, silent bool) {
	if len(p) == 0 {
		return "", false
	}
	text := string(p)
	switch rest := text[1:]; text[0] {
	case '?':
		return s.stopReply(), false
	case 'g':
		return s.registers(), false
	case 'p':
		return s.register(rest), false
	case 'P':
		return s.pass(rest), false
	case 'G':
		return wrong(notWritten), false
	case 'm':
		return s.read(rest), false
	case 'M', 'X':
		return s.write(rest, text[0] == 'X'), false
	case 'Z', 'z':
		return s.point(text[0] == 'Z', rest), false
	case 'H':
		return s.choose(rest), false
	case 'T':
		_, err := s.cpu(rest)
		return okOr(err), false
	case 'c', 'C':
		return s.forward(-1, false)
	case 's', 'S':
		return s.forward(s.thread, true)
	case 'b':
		return s.back(rest)
	case 'D':
		s.ending = errDetached
		return "OK", false
	case 'k':
		s.ending = errKill
		return "", true
	case 'v':
		return s.verbose(rest)
	case 'q', 'Q':
		return s.query(text), false
	}
	return "", false
}

// wrong is the reply to a packet that cannot be obeyed.
func wrong(format string, args ...any) string { return "E." + fmt.Sprintf(format, args...) }

// okOr is the reply to a packet that has no other result.
func okOr(err error) string {
	if err != nil {
		return wrong("%v", err)
	}
	return "OK"
}

// cpu reads a thread: CPUs are threads from 1 on. 0 and -1 stand for any.
func (s *session) cpu(text string) (int, error) {
	n, err := strconv.ParseInt(text, 16, 32)
	switch {
	case err != nil || n < -1 || n > int64(s.player.inst.m.CPUs()):
		return 0, fmt.Errorf("no thread %q: CPUs are threads from 1 to %d", text, s.player.inst.m.CPUs())
	case n < 1:
		return s.thread, nil
	}
	return int(n) - 1, nil
}

// choose sets the CPU that other packets mean. For going on the packet vCont says it.
func (s *session) choose(text string) string {
	if !strings.HasPrefix(text, "g") {
		return "OK"
	}
	n, err := s.cpu(text[1:])
	if err == nil {
		s.thread = n
	}
	return okOr(err)
}

// resume runs the machine in a direction, up to a stop.
func (s *session) resume(run func(int, bool) (stop, error), cpu int, steps bool) (string, bool) {
	st, err := run(cpu, steps)
	if err != nil {
		s.ending = err
		return wrong("%v", err), false
	}
	s.stopped, s.thread, s.told = st, st.cpu, false
	if st.reason == ended {
		s.say(st.text)
	}
	return s.stopReply(), false
}

// forward lets the machine go on. At the end of a run it stops once, for those who want to go back, and then the run is over.
func (s *session) forward(cpu int, steps bool) (string, bool) {
	if s.stopped.reason == ended && s.told {
		s.ending = errDetached
		return "W00", false
	}
	return s.resume(s.player.forward, cpu, steps)
}

// back goes backwards.
func (s *session) back(rest string) (string, bool) {
	switch rest {
	case "s":
		return s.resume(s.player.backward, s.thread, true)
	case "c":
		return s.resume(s.player.backward, -1, false)
	}
	return "", false
}

// stopReply says why the machine stands still (section "Stop Reply Packets").
func (s *session) stopReply() string {
	st := &s.stopped
	why, signal := "", 5
	switch st.reason {
	case broke:
		why = "swbreak:;"
	case watched:
		why = fmt.Sprintf("%s:%x;", map[byte]string{'2': "watch", '3': "rwatch", '4': "awatch"}[st.watch.typ], st.addr)
	case interrupted:
		signal = 2
	case began:
		why = "replaylog:begin;"
	case ended:
		why, s.told = "replaylog:end;", true
	}
	return fmt.Sprintf("T%02xthread:%x;%s", signal, st.cpu+1, why)
}

// say prints a line in gdb, which must wait for a stop.
func (s *session) say(text string) {
	_ = s.conn.Send("O" + hex.EncodeToString([]byte(text+"\n"))) // a connection that is gone shows at the reply
}

// verbose answers packets with long names.
func (s *session) verbose(rest string) (string, bool) {
	name, args, _ := strings.Cut(rest, ";")
	switch {
	case rest == "Cont?":
		return "vCont;c;C;s;S", false
	case name == "Cont":
		return s.vCont(args)
	case strings.HasPrefix(rest, "Kill"):
		s.ending = errKill
		return "OK", false
	}
	return "", false
}

// vCont goes on. All CPUs do, whatever the packet says, as one that stood still would change all times: a step ends with the
// next instruction of its CPU.
func (s *session) vCont(args string) (string, bool) {
	for action := range strings.SplitSeq(args, ";") {
		verb, thread, named := strings.Cut(action, ":")
		if verb == "" || verb[0] != 's' && verb[0] != 'S' {
			continue
		}
		cpu := s.thread
		if named {
			var err error
			if cpu, err = s.cpu(thread); err != nil {
				return okOr(err), false
			}
		}
		return s.forward(cpu, true)
	}
	return s.forward(-1, false)
}

// query answers questions.
func (s *session) query(text string) string {
	name, args, _ := strings.Cut(text, ":")
	switch {
	case strings.HasPrefix(text, "qRcmd,"):
		return s.monitor(text[len("qRcmd,"):])
	case strings.HasPrefix(text, "qThreadExtraInfo,"):
		n, err := s.cpu(text[len("qThreadExtraInfo,"):])
		if err != nil {
			return okOr(err)
		}
		return hex.EncodeToString(fmt.Appendf(nil, "cpu %d", n))
	}
	switch name {
	case "qSupported":
		return fmt.Sprintf("PacketSize=%x;qXfer:features:read+;QStartNoAckMode+;swbreak+;vContSupported+;ReverseStep+;ReverseContinue+",
			protocol.MaxPacket-16)
	case "QStartNoAckMode":
		s.conn.Quiet()
		return "OK"
	case "qXfer":
		return s.transfer(args)
	case "qAttached":
		return "1"
	case "qC":
		return fmt.Sprintf("QC%x", s.thread+1)
	case "qfThreadInfo":
		return s.threads()
	case "qsThreadInfo":
		return "l"
	case "qSymbol":
		return "OK"
	}
	return ""
}

// threads lists the CPUs.
func (s *session) threads() string {
	var list []string
	for i := range s.player.inst.m.CPUs() {
		list = append(list, fmt.Sprintf("%x", i+1))
	}
	return "m" + strings.Join(list, ",")
}

// transfer reads the target's description.
func (s *session) transfer(args string) string {
	span, ok := strings.CutPrefix(args, "features:read:target.xml:")
	if !ok {
		return ""
	}
	from, n, err := numbers(span)
	if err != nil {
		return okOr(err)
	}
	xml := describe(&s.player.inst.m.ISA().GDB)
	if from >= uint64(len(xml)) {
		return "l"
	}
	if xml = xml[from:]; uint64(len(xml)) > n {
		return "m" + xml[:n]
	}
	return "l" + xml
}

// numbers reads two numbers with a comma between.
func numbers(text string) (a, b uint64, err error) {
	first, second, ok := strings.Cut(text, ",")
	if a, err = strconv.ParseUint(first, 16, 64); err == nil && ok {
		b, err = strconv.ParseUint(second, 16, 64)
	}
	if err != nil || !ok {
		return 0, 0, fmt.Errorf("%q: want two numbers", text)
	}
	return a, b, nil
}
