package distro

// Describe is the device tree that a kernel of ARM gets, with its initial file system at an address.
func Describe(c Config, initrd uint64) ([]byte, error) {
	return c.boardTree(c.Board.(Described), initrd, uint64(len(c.Initrd)))
}
