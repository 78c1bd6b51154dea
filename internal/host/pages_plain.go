//go:build !unix || solaris || aix || illumos

package host

// mapped gives nothing: this system has no such call.
func mapped(int) ([]byte, bool) { return nil, false }

func unmap([]byte) error { return nil }
