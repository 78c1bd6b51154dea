package modules

import (
	"path"
	"regexp"
	"strings"

	"kprobesim/image/object"
)

// File is the object file of a module. It does not change, so machines that run at the same time may share one.
type File struct {
	Name   string // of the module
	Object *object.Object
}

// Read reads the object file of a module. The module has the name of its file, or the one that its section .modinfo
// says. b stays in use and must not change.
func Read(file string, b []byte) (*File, error) {
	o, err := object.Read(file, b)
	if err != nil {
		return nil, err
	}
	return &File{Name: nameOf(file, o), Object: o}, nil
}

// nameOf is the name of a module as the kernel has it: an identifier, without the ending of the file.
func nameOf(file string, o *object.Object) string {
	if name, ok := o.Value("name"); ok {
		return name
	}
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	base = strings.TrimSuffix(strings.TrimSuffix(base, ".o"), ".ko")
	return foreign.ReplaceAllLiteralString(base, "_")
}

// foreign is a character that no identifier has.
var foreign = regexp.MustCompile("[^a-zA-Z0-9_]")
