// Command tests runs `go test` on all packages and says at the end what the tests left out: `go test` itself hides what
// tests that pass say. It prints what `go test` prints, and ends with its exit code. Arguments are those of `go test`.
//
// It leaves out verbose output, which -v would add.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout)) }

// run starts `go test`, with arguments in place of its own where there are some.
func run(args []string, out io.Writer) int {
	if len(args) == 0 {
		args = []string{"-timeout", "40m", "./..."}
	}
	c := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	c.Stderr = os.Stderr
	pipe, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tests:", err)
		return 1
	}
	r := newReport(out)
	err = errors.Join(r.read(bufio.NewReader(pipe)), c.Wait())
	r.summary()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		fmt.Fprintln(os.Stderr, "tests:", err)
	}
	return 1
}
