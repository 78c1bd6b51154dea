package attaching

// Argument is how a program finds an argument of a static probe.
func Argument(text string) ([]byte, error) { return argument(text) }
