package distro

import (
	"embed"
	"io/fs"
	"strings"
)

// Modules of this program for packaged kernels.
const (
	EmptyModule   = "kprobesim_empty"   // probes whose handlers count
	MeasureModule = "kprobesim_measure" // times every kind of hit and prints a table
)

//go:embed module
var modules embed.FS

// ModuleFiles are the files by which a module is built against the headers of a kernel: the script build.sh first, then the
// source and what it includes.
func ModuleFiles(name string) (files []File, err error) {
	err = fs.WalkDir(modules, "module", func(path string, d fs.DirEntry, err error) error {
		file := strings.TrimPrefix(path, "module/")
		wanted := file == "build.sh" || file == name+".c" || strings.HasPrefix(file, name+"/")
		if err != nil || d.IsDir() || !wanted {
			return err
		}
		b, err := modules.ReadFile(path)
		files = append(files, File{file, ModeFile, b})
		return err
	})
	return files, err
}

// Inserting are the files of an initial file system whose first program inserts a module, takes it away again and switches
// the machine off.
func Inserting(bits int, name string, module []byte, params string) ([]File, error) {
	first, err := program("insert-", bits)
	return []File{
		first, {"module.ko", ModeFile, module}, {"name", ModeFile, []byte(name)}, {"parameters", ModeFile, []byte(params)},
	}, err
}
