package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"kprobesim/results/outdir"
)

// Keys are the inputs of an experiment as keys and values: "machine pentium-m-1495 cost.alu.latency" is "1". Titles
// and sources are none, because no figure depends on them.
type Keys map[string]string

// maxKeysFile bounds a file of keys in bytes. This program's take some ten thousand.
const maxKeysFile = 4 << 20

// Text writes the keys, one a line, sorted.
func (k Keys) Text() []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(k)) {
		fmt.Fprintf(&b, "%s = %s\n", name, k[name])
	}
	return b.Bytes()
}

// ReadKeys reads what Text wrote. The name stands in errors.
func ReadKeys(name string, b []byte) (Keys, error) {
	if len(b) > maxKeysFile {
		return nil, fmt.Errorf("%s: %d bytes are no list of inputs", name, len(b))
	}
	k := Keys{}
	for i, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		if line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, " = ")
		if !ok || key == "" {
			return nil, fmt.Errorf("%s:%d: want KEY = VALUE", name, i+1)
		}
		if _, twice := k[key]; twice {
			return nil, fmt.Errorf("%s:%d: %s is there twice", name, i+1, key)
		}
		k[key] = value
	}
	return k, nil
}

// LoadKeys reads a file of keys. A file that is not there gives none.
func LoadKeys(path string) (Keys, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("inputs: %w", err)
	}
	return ReadKeys(path, b)
}

// SaveKeys writes a file of keys, whole or not at all.
func SaveKeys(path string, k Keys) error {
	if err := outdir.WriteFile(path, k.Text()); err != nil {
		return fmt.Errorf("inputs: %w", err)
	}
	return nil
}
