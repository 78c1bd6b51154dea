package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"kprobesim/experiments/kinds"
	"kprobesim/internal/host"
	"kprobesim/internal/hostcode"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// forbidden is the variable that makes TestHostThatForbidsCode the process in which the host forbids it.
const forbidden = "KPROBESIM_TEST_FORBIDDEN"

// checksPlain compares an experiment with its baseline, where no code of the host can be.
func checksPlain(t *testing.T, option ...string) {
	t.Helper()
	args := append([]string{"check", "overhead-pentium-m", "--baselines", filepath.Join("..", "..", "results", "baselines")}, option...)
	code, stdout, stderr := command(kinds.Measure, args...)
	require.That(t, code == exitOK, "exit code %d\n%s%s", code, stdout, stderr)
	require.That(t, hostcode.NewRoom(1) == nil, "there is room for code of the host")
}

// TestNoHostCode gives the option: the figures are the same.
func TestNoHostCode(t *testing.T) {
	defer func() { host.Code.Off = false }()
	checksPlain(t, "--no-host-code")
}

// TestHostThatForbidsCode has the host refuse memory that can be executed, in a process of its own: the figures are the
// same without an option.
func TestHostThatForbidsCode(t *testing.T) {
	if os.Getenv(forbidden) != "" {
		hosttools.ForbidCode(t)
		checksPlain(t)
		return
	}
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), forbidden+"=1")
	out, err := c.CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Error(err)
	}
}
