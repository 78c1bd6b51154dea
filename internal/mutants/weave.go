package mutants

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Environment says which mutant runs, where its images are, and where a run without one leaves a file for each mutant whose function it
// enters.
const (
	Environment        = "KPROBESIM_MUTANT"
	imagesEnvironment  = "KPROBESIM_MUTANT_IMAGES"
	enteredEnvironment = "KPROBESIM_MUTANTS_ENTERED"
)

// Weave writes the files of the tree at root with all mutants of Go code in them to a folder, and returns the list that
// go build takes by -overlay. Mutants keep their places in the list, by which Name calls them.
func Weave(root, folder string, list []Mutant) (overlay string, err error) {
	replace := map[string]string{}
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
		text, pkg, err := weaveFile(root, name, list, which)
		if err != nil {
			return "", err
		}
		if err := put(name, text); err != nil {
			return "", err
		}
		if err := put(filepath.Dir(name)+"/mutant_now.go", fmt.Sprintf(chooser, pkg, Environment, enteredEnvironment)); err != nil {
			return "", err
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, b, 0o666)
}

// chooser is the file that every package with mutants gets. Its names are none of the package's own.
const chooser = `package %s

import (
	mutantOS "os"
	mutantSync "sync"
)

var mutantNow, mutantsEntered = mutantOS.Getenv(%q), mutantOS.Getenv(%q)

var mutantSeen mutantSync.Map

func enterMutant(name string) {
	if _, seen := mutantSeen.LoadOrStore(name, true); !seen {
		mutantOS.WriteFile(mutantsEntered+"/"+name, nil, 0o666)
	}
}
`

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

// weaveFile returns a file with mutants in it, and its package.
func weaveFile(root, name string, list []Mutant, which []int) (text, pkg string, err error) {
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return "", "", err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, b, parser.SkipObjectResolution)
	if err != nil {
		return "", "", err
	}
	offset := func(p token.Pos) int { return fset.Position(p).Offset }
	var all []insertion
	for _, i := range which {
		at := strings.Index(string(b), list[i].Old)
		f := enclosing(file, func(n ast.Node) bool {
			return at >= 0 && offset(n.Pos()) < at && at+len(list[i].Old) <= offset(n.End())
		})
		if f == nil {
			return "", "", fmt.Errorf("%s: the old text is in no body of a function of %s", &list[i], name)
		}
		from, to := offset(f.Body.Lbrace)+1, offset(f.Body.Rbrace)
		body := string(b[from:at]) + list[i].New + string(b[at+len(list[i].Old):to])
		end := "\n"
		if f.Type.Results == nil {
			end = "\nreturn\n"
		}
		all = append(all, insertion{from, fmt.Sprintf("\nif mutantsEntered != \"\" {\nenterMutant(%[1]q)\n}\nif mutantNow == %[1]q {%[2]s%[3]s}\n", Name(i), body, end)})
	}
	slices.SortStableFunc(all, func(x, y insertion) int { return y.at - x.at })
	text = string(b)
	for _, in := range all {
		text = text[:in.at] + in.text + text[in.at:]
	}
	if name == openedImages {
		text = strings.Replace(text, opensImage, opensMutant, 1)
	}
	return text, file.Name.Name, nil
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
