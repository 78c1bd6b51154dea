package mutants

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Environment says which mutant runs, where its images are, and where a run without one leaves a file for each mutant whose function a
// test enters.
const (
	Environment        = "KPROBESIM_MUTANT"
	imagesEnvironment  = "KPROBESIM_MUTANT_IMAGES"
	enteredEnvironment = "KPROBESIM_MUTANTS_ENTERED"
)

// Weave writes the files of the tree at root with all mutants of Go code in them to a folder. It returns which file stands for which, as
// go build takes it by -overlay. Mutants keep their places in the list, by which Name calls them.
func Weave(root, folder string, list []Mutant) (replace map[string]string, err error) {
	replace = map[string]string{}
	put := func(name, text string) error {
		to := filepath.Join(folder, strings.ReplaceAll(name, "/", "__"))
		replace[filepath.Join(root, name)] = to
		return os.WriteFile(to, []byte(text), 0o666)
	}
	files := map[string][]int{openedImages: nil}
	for i, m := range list {
		if m.None == "" && !m.Guest() {
			files[m.File] = append(files[m.File], i)
		}
	}
	for name, which := range files {
		text, err := weaveFile(root, name, list, which)
		if err != nil {
			return nil, err
		}
		if err := put(name, text); err != nil {
			return nil, err
		}
	}
	return replace, put(chooserFile, fmt.Sprintf(chooser, Environment, enteredEnvironment, len(list)+1))
}

// weaveTests adds the files of tests of a package. Each test says there that it begins, and none runs beside others, so that an entered
// function is entered by that test.
func weaveTests(root, folder, pkg string, replace map[string]string) error {
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text := strings.ReplaceAll(string(b), "t.Parallel()", "t.Helper()")
		text = beginning.ReplaceAllString(text, "$0 mutantNow.Begin(\"$1\");")
		if text == string(b) {
			continue
		}
		to := filepath.Join(folder, strings.ReplaceAll(pkg, "/", "__")+"__"+filepath.Base(file))
		if err := os.WriteFile(to, []byte(imported(text)), 0o666); err != nil {
			return err
		}
		replace[file] = to
	}
	return err
}

// The first lines of a test, and of a file.
var (
	beginning     = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w*)\(\w+ \*testing\.[TF]\) \{`)
	packageClause = regexp.MustCompile(`(?m)^package \w+`)
)

// imported returns the text of a file that imports the chooser.
func imported(text string) string {
	at := packageClause.FindStringIndex(text)[1]
	return text[:at] + "; import mutantNow \"kprobesim/" + filepath.Dir(chooserFile) + "\"" + text[at:]
}

// chooserFile is a package of its own, which files with mutants and tests import as mutantNow. No package may have that name in it.
const (
	chooserFile = "internal/mutants/now/now.go"
	chooser     = `package now

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

const which, where, test = %q, %q, "KPROBESIM_MUTANTS_TEST"

var (
	Mutant, _ = strconv.Atoi(strings.TrimPrefix(os.Getenv(which), "m"))
	Test      uint32 // 0 where nothing is noted
	Seen      [%d]uint32
	entered   = os.Getenv(where)
	name      = os.Getenv(test)
)

func init() {
	if entered != "" {
		Test = 1
	}
}

func Begin(of string) {
	if entered != "" {
		Test++
		name = of
		os.Setenv(test, of)
	}
}

// Enter notes a test, or none where what is done once for all tests comes to a mutant.
func Enter(i int) {
	Seen[i] = Test
	of := name
	if strings.Contains(string(debug.Stack()), "sync.(*Once)") {
		of = ""
	}
	os.WriteFile(entered+"/m"+strconv.Itoa(i)+"."+of, nil, 0o666)
}
`
)

// The guest's mutants are images that the program opens in the place of its own.
const (
	openedImages = "workloads/workloads.go"
	opensImage   = "\tif im, ok := Find(name); ok {\n"
	opensMutant  = opensImage + "\t\tif b, err := os.ReadFile(os.Getenv(\"" + imagesEnvironment + "\") + \"/\" + im.File); err == nil {\n" +
		"\t\t\treturn b, nil\n\t\t}\n"
)

// insertion is text that comes into a file.
type insertion struct {
	at   int
	text string
}

// weaveFile returns a file with mutants in it.
func weaveFile(root, name string, list []Mutant, which []int) (string, error) {
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return "", err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, b, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	offset := func(p token.Pos) int { return fset.Position(p).Offset }
	var all []insertion
	for _, i := range which {
		at := strings.Index(string(b), list[i].Old)
		f := enclosing(file, func(n ast.Node) bool {
			return at >= 0 && offset(n.Pos()) < at && at+len(list[i].Old) <= offset(n.End())
		})
		if f == nil {
			return "", fmt.Errorf("%s: the old text is in no body of a function of %s", &list[i], name)
		}
		from, to := offset(f.Body.Lbrace)+1, offset(f.Body.Rbrace)
		body := string(b[from:at]) + list[i].New + string(b[at+len(list[i].Old):to])
		end := "\n"
		if f.Type.Results == nil {
			end = "\nreturn\n"
		}
		all = append(all, insertion{from, fmt.Sprintf("\nif mutantNow.Seen[%[1]d] != mutantNow.Test {\nmutantNow.Enter(%[1]d)\n}\nif mutantNow.Mutant == %[1]d {%[2]s%[3]s}\n", i+1, body, end)})
	}
	slices.SortStableFunc(all, func(x, y insertion) int { return y.at - x.at })
	text := string(b)
	for _, in := range all {
		text = text[:in.at] + in.text + text[in.at:]
	}
	if name == openedImages {
		text = strings.Replace(text, opensImage, opensMutant, 1)
	}
	if len(all) > 0 {
		text = imported(text)
	}
	return text, nil
}

// enclosing is the function whose body holds a place.
func enclosing(file *ast.File, holds func(ast.Node) bool) *ast.FuncDecl {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && holds(f.Body) {
			return f
		}
	}
	return nil
}
