//go:build darwin

package host

// large does nothing: this host chooses the size of its pages itself.
func large([]byte) {}
