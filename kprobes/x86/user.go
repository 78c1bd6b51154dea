package x86

// systemCall knows int n, syscall and sysenter.
func systemCall(code []byte) bool {
	const (
		intN       = 0xcd
		secondPage = 0x0f
		syscall    = 0x05
		sysenter   = 0x34
	)
	switch {
	case code[0] == intN:
		return true
	case code[0] != secondPage || len(code) < 2:
		return false
	}
	return code[1] == syscall || code[1] == sysenter
}
