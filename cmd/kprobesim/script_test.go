package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/image/linux/linuxtest"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// TestScripts runs the commands of each file of testdata/scripts in an empty folder, and holds their exit codes, what they print
// and which files they leave. testdata/scripts/README.md lists the verbs of a line.
func TestScripts(t *testing.T) {
	repo := require.Must(filepath.Abs(filepath.Join("..", "..")))(t)
	files := require.Must(filepath.Glob(filepath.Join("testdata", "scripts", "*.txt")))(t)
	if !testing.Short() && !*update {
		files = hosttools.Share(t, "files of commands", 3, files)
	}
	sums := filepath.Join(repo, "cmd", "kprobesim", transcripts) // the tests change folders
	var all []string
	for _, file := range files {
		text := read(t, file)
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			if testing.Short() && !slices.Contains(goroutines, name) {
				t.Skip("with -short: the commands of this file start no goroutines that others do not")
			}
			t.Chdir(t.TempDir())
			s := &script{T: t, repo: repo}
			for i, line := range strings.Split(strings.ReplaceAll(text, "\n\t|", "\x00"), "\n") {
				s.where = filepath.Base(file) + ":" + strconv.Itoa(i+1+s.skipped)
				s.skipped += strings.Count(line, "\x00")
				s.do(line)
			}
			if all = append(all, s.sums...); !*update {
				require.Among(t, sums, strings.Join(s.sums, ""))
			}
		})
	}
	if *update {
		require.Lines(t, sums, strings.Join(all, ""), true)
	}
}

// goroutines are the files whose commands run several points, schedules or rounds at a time: make race wants them.
var goroutines = []string{"explain", "races", "run"}

// script is a run of a file of commands.
type script struct {
	*testing.T
	where, repo string
	skipped     int // lines of files so far, which are no commands
	measure     running.Measure
	measured    atomic.Int64
	program     func() (string, error)
	now         time.Time
	out, err    string
	sums        []string // of transcripts
}

// verbs has what a line of a script can do, by its first word, with the rest of the line as words.
var verbs = map[string]func(s *script, w ...string){
	"measure": func(s *script, w ...string) { s.measure = measureOf(s.T, w) },
	"now":     func(s *script, w ...string) { s.now = require.Must(time.Parse(time.DateTime, w[0]+" "+w[1]))(s) },
	"keep": func(s *script, _ ...string) {
		s.program = func() (string, error) { return "test", nil }
	},
	"says": func(s *script, w ...string) { s.hold(strings.Contains(s.out+s.err, w[0]), w) },
	"out":  func(s *script, w ...string) { s.hold(strings.Contains(s.out, w[0]), w) },
	"err":  func(s *script, w ...string) { s.hold(strings.Contains(s.err, w[0]), w) },
	"only": func(s *script, w ...string) { s.hold(s.out == w[0], w) },
	"line": func(s *script, w ...string) { s.hold(strings.Contains("\n"+s.out, "\n"+w[0]), w) },
	"not":  func(s *script, w ...string) { s.hold(!strings.Contains("\n"+s.out+s.err, w[0]), w) },
	"measured": func(s *script, w ...string) {
		s.hold(strconv.FormatInt(s.measured.Load(), 10) == w[0], w)
	},
	"file": func(s *script, w ...string) {
		require.NoError(s, errors.Join(os.MkdirAll(filepath.Dir(w[0]), 0o755), os.WriteFile(w[0], []byte(strings.Join(w[1:], "\n")), 0o644)))
	},
	"whole": func(s *script, w ...string) {
		text := s.out
		if len(w) > 1 {
			text = read(s.T, w[1])
		}
		require.Lines(s, filepath.Join(s.repo, "cmd", "kprobesim", "testdata", "scripts", w[0]), text, *update)
	},
	"kernel": func(s *script, w ...string) { require.NoError(s, os.WriteFile(w[0], madeUp[w[0]](), 0o644)) },
	"holds":  func(s *script, w ...string) { s.hold(strings.Contains("\n"+read(s.T, w[0]), w[1]), w) },
	"lacks":  func(s *script, w ...string) { s.hold(!strings.Contains(read(s.T, w[0]), w[1]), w) },
	"absent": func(s *script, w ...string) { s.hold(len(require.Must(filepath.Glob(w[0]))(s)) == 0, w) },
	"same":   func(s *script, w ...string) { sameFiles(s.T, readAll(s.T, w[0]), readAll(s.T, w[1])) },
	"copy":   func(s *script, w ...string) { require.NoError(s, os.CopyFS(w[1], os.DirFS(w[0]))) },
	"remove": func(s *script, w ...string) { require.NoError(s, os.RemoveAll(w[0])) },
	"swap": func(s *script, w ...string) {
		was := read(s.T, w[0])
		is := regexp.MustCompile("(?m)"+w[1]).ReplaceAllString(was, w[2])
		s.hold(is != was, w)
		require.NoError(s, os.WriteFile(w[0], []byte(is), 0o644))
	},
	"needs": func(s *script, w ...string) { hosttools.Need(s, w[0], w[1], "the commands of "+s.where) },
	"sh": func(s *script, w ...string) {
		if out, err := exec.Command(w[0], w[1:]...).CombinedOutput(); err != nil {
			s.Fatalf("%s: %v\n%s", s.where, err, out)
		}
	},
}

// madeUp makes kernels of which nothing but a console is known.
var madeUp = map[string]func() []byte{
	"vmlinuz": func() []byte { return made(prints) },
	"loops":   func() []byte { return made(linuxtest.Loop) },
	"asks":    func() []byte { return made(linuxtest.Asks) },
}

func made(code []byte) []byte {
	return linuxtest.Boxed(linuxtest.Kernel{Bits: 64, Flat: true, Code: code}.ELF())
}

// measureOf is a measure in place of simulation, by words: cycles of a hit, fails TEXT, panics, never.
func measureOf(t *testing.T, w []string) running.Measure {
	t.Helper()
	switch w[0] {
	case "fails":
		return failing(errors.New(w[1]))
	case "panics":
		return failing(nil)
	case "never":
		return func(*schema.Point) (*kinds.Measurement, error) {
			t.Error("a point was measured")
			return nil, errors.New("measured")
		}
	case "real":
		return nil
	}
	return fake(require.Must(strconv.ParseInt(w[0], 10, 64))(t))
}

func (s *script) hold(holds bool, want []string) {
	s.Helper()
	if !holds {
		s.Errorf("%s: want %q\n%s%s", s.where, want, s.out, s.err)
	}
}

// word is a part of a line: what stands between quotes, or up to a space.
var word = regexp.MustCompile(`'[^']*'|"(?:[^"\\]|\\.)*"|\S+`)

// do does what a line says. Lines of a file follow its name, each behind a zero byte.
func (s *script) do(line string) {
	line, file, _ := strings.Cut(s.expand(strings.TrimSpace(line)), "\x00")
	w := word.FindAllString(line, -1)
	if len(w) == 0 || strings.HasPrefix(w[0], "#") {
		return
	}
	for i := range w {
		if w[i][0] == '\'' {
			w[i] = w[i][1 : len(w[i])-1]
		} else if text, err := strconv.Unquote(w[i]); err == nil {
			w[i] = text
		}
	}
	if code, ok := strings.CutPrefix(w[0], "$"); ok {
		s.command(code, w[1:])
		return
	}
	if file != "" {
		for text := range strings.SplitSeq(file+"\x00", "\x00") {
			w = append(w, strings.TrimPrefix(text, " "))
		}
	}
	verb, ok := verbs[w[0]]
	if !ok {
		s.Fatalf("%s: no verb %q", s.where, w[0])
	}
	verb(s, w[1:]...)
}

// expand sets names of experiments and folders in.
func (s *script) expand(line string) string {
	return strings.NewReplacer("$X", experiment, "$C", collection, "$REPO", s.repo, "$M", s.repo+"/modules/testdata").Replace(line)
}

// transcripts has a sum of what each command of the scripts prints.
const transcripts = "testdata/scripts/transcripts.sums"

// What the host decides: times and memory, how points follow each other, names of temporary files and of commits, and addresses in a trace.
var ofTheHost = []struct {
	is   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`(?m)^.*(: \d+ of \d+: |  about |goroutine |panic\(|\(0x|\({|\(\.\.\.|\.go:\d+ \+0x).*\n`), ""},
	{regexp.MustCompile(`\.\w+\.new\b|\b[0-9a-f]{7,}\b`), "X"},
}

// Numbers of the error stream may be the host's.
var numbersAndUnits = regexp.MustCompile(`\d[\d.,]*( ?(ns|µs|ms|s|min|m|h|KiB|MiB|GiB)\b)*`)

// transcript holds what a command printed: the output as it is, and the lines of the error stream in any order and without numbers.
func (s *script) transcript() {
	out, said := s.out, s.err
	for _, x := range ofTheHost {
		out, said = x.is.ReplaceAllString(out, x.with), x.is.ReplaceAllString(said, x.with)
	}
	lines := strings.Split(numbersAndUnits.ReplaceAllString(said, "N"), "\n")
	slices.Sort(lines)
	text := strings.ReplaceAll(out+strings.Join(lines, "\n"), s.repo, "REPO")
	s.sums = append(s.sums, fmt.Sprintf("%s %.4x\n", s.where, sha256.Sum256([]byte(text))))
	if dir := os.Getenv("KPROBESIM_OUTCOMES"); dir != "" {
		require.NoError(s, os.WriteFile(filepath.Join(dir, s.where), []byte(text), 0o644))
	}
}

// command runs a command, and holds its exit code.
func (s *script) command(code string, args []string) {
	var out, err bytes.Buffer
	a := newApp(&out, &err)
	s.measured.Store(0)
	if s.measure != nil {
		a.program = s.program // what is made up must not be kept, but where a test says so
		a.measure = func(p *schema.Point) (*kinds.Measurement, error) {
			s.measured.Add(1)
			return s.measure(p)
		}
	}
	if !s.now.IsZero() {
		a.now = func() time.Time { return s.now }
	}
	got := a.run(args)
	s.out, s.err = out.String(), err.String()
	s.transcript()
	if want, _ := strconv.Atoi(code); got != want {
		s.Errorf("%s: exit code %d, want %d: %q\n%s%s", s.where, got, want, args, s.out, s.err)
	}
}
