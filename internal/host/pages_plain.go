//go:build !linux && !darwin

package host

// mapped gives nothing: this system is not known to have the calls.
func mapped(int) ([]byte, bool) { return nil, false }

func unmap([]byte) error { return nil }
