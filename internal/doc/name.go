package doc

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// plainName matches names that files, CSV columns and figures can hold without quoting.
var plainName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_+.-]{0,99}$`)
})

// Name parses a name that is also a file name.
func Name(n *Node) (string, error) {
	s, err := Text(n)
	if err == nil && !plainName().MatchString(s) {
		err = fmt.Errorf("%.100q is no name: at most 100 letters, digits and _ + . -, a letter or digit first", s)
	}
	return s, err
}

// IsPath tells a file from a name: names have no slash and no ".toml".
func IsPath(s string) bool { return strings.ContainsAny(s, `/\`) || strings.HasSuffix(s, ".toml") }

// Beside returns the path of a file that another file names: relative paths start at that file.
func Beside(file, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(filepath.Dir(file), name)
}
