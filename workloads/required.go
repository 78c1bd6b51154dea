package workloads

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
)

//go:embed required.txt
var required string

// Missing names every required symbol that an image does not have; has tells whether it has one. It
// returns nil when nothing is missing.
func Missing(has func(name string) bool) error {
	var errs []error
	use := ""
	for line := range strings.Lines(required) {
		names, listed := strings.CutPrefix(line, "\t")
		if !listed {
			use = strings.TrimSuffix(strings.TrimSpace(line), ":")
			continue
		}
		for _, name := range strings.Fields(names) {
			if !has(name) {
				errs = append(errs, fmt.Errorf("no symbol %s, which %s needs: build it from the sources of this version", name, use))
			}
		}
	}
	return errors.Join(errs...)
}
