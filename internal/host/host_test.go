package host

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"testing"

	"kprobesim/internal/require"
)

// A program is named by the bytes that run.
func TestExecutable(t *testing.T) {
	b := require.Must(os.ReadFile(require.Must(os.Executable())(t)))(t)
	sum := sha256.Sum256(b)
	require.Got(Executable())(t, hex.EncodeToString(sum[:]), "the program")
}
