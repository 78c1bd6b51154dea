//go:build !linux || !amd64

package native

import "errors"

type runner struct{}

// Able returns why no code can be timed here.
func Able() error { return errors.New("code is timed on hosts with linux/amd64 alone") }

func newHost() (*runner, error) { return nil, Able() }

func (*runner) run(*Job) ([][]uint64, error) { return nil, Able() }
