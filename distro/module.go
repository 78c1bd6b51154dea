package distro

import "embed"

// EmptyModule is the name of the module with empty handlers.
const EmptyModule = "kprobesim_empty"

//go:embed module/build.sh module/kprobesim_empty.c
var emptyModule embed.FS

// ModuleFiles are the files by which the module with empty handlers is built against the headers of a kernel: a script,
// and its source.
func ModuleFiles() (files []File, err error) {
	for _, name := range []string{"build.sh", EmptyModule + ".c"} {
		b, err := emptyModule.ReadFile("module/" + name)
		if err != nil {
			return nil, err
		}
		files = append(files, File{name, ModeFile, b})
	}
	return files, nil
}
