package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/planning"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// long names the documented commands that take too long for a test, with the reason. Commands of experiments are
// validated in place of being run.
var long = map[string]string{
	"run bystander-cost scaling":                                                "half a minute of simulation; TestCheck and make baselines run the experiments",
	"sensitivity overhead-xeon-e5410-x86_64 --refit --top 1":                    "half a minute of simulation; TestDocuments runs it",
	"run missed --accounts":                                                     "seconds of simulation; make baselines runs the experiment",
	"run my.toml --set kernel.image=./my.elf --set workload.target=my_function": "builds an image with GCC: TestImageOfYourOwn",
}

// gated names the documented commands that are run where long tests are asked for, and validated elsewhere. They take
// two thirds of the time of all, and make baselines runs their experiments with other settings.
var gated = []string{
	"run overhead-published",
	"check overhead-published",
	"races optimize --schedules 10000",
	"run hit-latency",
	"run scaling --set replicates=5 --set kernel.cpus=2 --out out/replicates",
	"run hit-latency --set isa=ppc64 --set machine=power5-1656 --out out/power5",
	"run irq-off-power5 --set points.k.handler=work --out out/long",
	"run irq-off --set points.k.handler=work --out out/long",
	"run overhead-published --set replicates=20 --set workload.hits=200 --out out/replicates",
}

// page is a document with examples.
type page struct{ name, text string }

// pages returns all documents.
func pages(t *testing.T) []page {
	t.Helper()
	var out []page
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		files := require.Must(filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern))))(t)
		for _, f := range files {
			text := require.Must(os.ReadFile(f))(t)
			out = append(out, page{filepath.Base(f), string(text)})
		}
	}
	return out
}

// example is a documented command.
type example struct {
	args  []string
	fails bool   // the document says so by "# fails"
	says  string // a part of its output that the document quotes
}

// quotes marks a block that quotes the command above it.
const quotes = "<!-- output of the last command, in part -->\n```\n"

// examples finds the commands of a document: the lines of its blocks for a shell that begin with the
// program.
func examples(text string) []example {
	var out []example
	for _, block := range strings.Split(text, "```sh\n")[1:] {
		block, rest, _ := strings.Cut(block, "```")
		for _, line := range strings.Split(block, "\n") {
			line, comment, _ := strings.Cut(line, "#")
			line = strings.TrimPrefix(line, "go run ./cmd/")
			if after, ok := strings.CutPrefix(line, "kprobesim "); ok {
				out = append(out, example{args: strings.Fields(after), fails: strings.TrimSpace(comment) == "fails"})
			}
		}
		if quoted, ok := strings.CutPrefix(strings.TrimLeft(rest, "\n"), quotes); ok && len(out) > 0 {
			says, _, _ := strings.Cut(quoted, "```")
			out[len(out)-1].says = strings.TrimSpace(says)
		}
	}
	return out
}

// exampleFiles writes what the examples need into dir: the baselines, the modules of the tests, and the TOML blocks whose first line is a
// comment with a file name.
func exampleFiles(t *testing.T, dir string, all []page) {
	t.Helper()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "results", "baselines"), os.DirFS("../../results/baselines")))
	require.NoError(t, os.CopyFS(filepath.Join(dir, "modules", "testdata"), os.DirFS("../../modules/testdata")))
	for _, p := range all {
		for _, block := range strings.Split(p.text, "```toml\n# ")[1:] {
			name, rest, _ := strings.Cut(block, "\n")
			body, _, _ := strings.Cut(rest, "```")
			file := filepath.Join(dir, filepath.Base(name))
			_, err := os.Stat(file)
			require.That(t, err != nil, "%s: %s stands in the documents twice", p.name, name)
			require.NoError(t, os.WriteFile(file, []byte(body), 0o644))
		}
	}
}

// TestDocumentedCommands runs every command of the documents in an empty folder.
func TestDocumentedCommands(t *testing.T) {
	all := pages(t)
	dir := t.TempDir()
	exampleFiles(t, dir, all)
	t.Chdir(dir)
	unused := map[string]bool{}
	for line := range long {
		unused[line] = true
	}
	for _, line := range gated {
		unused[line] = true
	}
	var ran []string
	for _, p := range all {
		for _, x := range examples(p.text) {
			line := strings.Join(x.args, " ")
			delete(unused, line)
			if slices.Contains(ran, line) {
				continue
			}
			ran = append(ran, line)
			t.Run(p.name+": "+line, func(t *testing.T) { x.try(t) })
		}
	}
	require.That(t, len(ran) >= 10, "only %d commands were found: %q", len(ran), ran)
	for line := range unused {
		t.Errorf("no document has the long command %q", line)
	}
}

// try runs an example and compares what it says. Long ones are validated, in short tests all that measure;
// searches for races that find nothing are cut short.
func (x example) try(t *testing.T) {
	args := x.args
	reason, tooLong := long[strings.Join(args, " ")]
	measures := args[0] == "run" || args[0] == "check"
	lacks, isLinux := packaged(t, args)
	switch {
	case lacks != "":
		hosttools.Missing(t, "a documented command with a packaged kernel", lacks)
	case isLinux && args[0] == "trace":
		t.Skip("does not apply: half a minute of simulation; TestLinux of experiments/kinds traces")
	case args[0] == "history":
		t.Skip("does not apply: the folder of this test is no repository; the script testdata/check-against.txt makes one")
	case isLinux:
		args = x.validate()
	case tooLong && strings.Contains(reason, "GCC"):
		t.Skip("does not apply: " + reason)
	case testing.Short() && slices.Contains([]string{"diff", "plot", "report", "merge"}, args[0]):
		t.Skip("with -short: " + strings.Join(args, " ") + ", because the runs whose results it reads are only validated")
	case tooLong, testing.Short() && measures && !x.fails,
		slices.Contains(gated, strings.Join(args, " ")) && !hosttools.Whole(t, "nine documented commands", "they are validated"):
		args = x.validate()
	case args[0] == "races" && !x.fails:
		args = append(slices.Clone(args), "--schedules", "4")
	}
	code, stdout, stderr := command(nil, args...)
	require.That(t, (code != exitOK) == x.fails && code != exitInternal && code != exitUsage, "exit code %d\n%s%s", code, stdout, stderr)
	require.That(t, strings.Contains(stdout+stderr, x.says), "the output does not hold %q:\n%s%s", x.says, stdout, stderr)
}

// kernelUpdate is the number of an update in the name of a packaged kernel. A mirror has the latest one alone.
var kernelUpdate = regexp.MustCompile(`-\d+-`)

// packaged links the kernel of a distribution that a command names into the folder, of whichever update, or says that there is none.
func packaged(t *testing.T, args []string) (lacks string, isLinux bool) {
	t.Helper()
	for _, a := range args {
		name, ok := strings.CutPrefix(a, "linux.kernel=")
		if !ok {
			continue
		}
		isLinux = true
		need, folder := []string{name}, ""
		if strings.HasSuffix(name, "-armmp") {
			need, folder = append(need, "vexpress-v2p-ca15_a7.dtb"), "arm"
		}
		for _, name := range need {
			dir, _ := hosttools.Packaged(folder)
			files, _ := filepath.Glob(filepath.Join(dir, kernelUpdate.ReplaceAllString(name, "-*-")))
			if dir == "" || len(files) == 0 {
				return planning.KernelFolder + " names no folder with " + filepath.Join(folder, name), true
			}
			hosttools.Depend(files[0])
			if err := os.Symlink(files[0], name); err != nil && !os.IsExist(err) {
				t.Fatal(err)
			}
		}
	}
	return "", isLinux
}

// validate is the command that looks at the same files without running them.
func (x example) validate() []string {
	args := []string{"validate"}
	for i, a := range x.args[1:] {
		switch {
		case a == "--set":
			args = append(args, a, x.args[i+2])
		case !strings.HasPrefix(a, "-") && !strings.HasPrefix(x.args[i], "-"):
			args = append(args, a)
		}
	}
	return args
}
