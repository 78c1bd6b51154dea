package distro_test

import (
	"strings"
	"sync"
)

// output collects what a process prints, to be looked at while it runs.
type output struct {
	mu sync.Mutex
	b  strings.Builder
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func (o *output) has(s string) bool { return strings.Contains(o.text(), s) }
