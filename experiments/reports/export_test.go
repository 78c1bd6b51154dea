package reports

import (
	"bytes"
	"errors"
)

// Files returns the contents of the results directory.
func (r *Report) Files() (map[string][]byte, error) {
	files, streams, err := r.files()
	for name, write := range streams {
		var b bytes.Buffer
		err = errors.Join(err, write(&b))
		files[name] = b.Bytes()
	}
	return files, err
}
