package attaching_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"kprobesim/distro/attaching"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// TestFunctions finds functions of a library by its symbol tables, and says why others are none that a probe can be put to. Of two
// versions it takes the one to which programs are linked now, in whatever order they stand.
func TestFunctions(t *testing.T) {
	hosttools.Need(t, "gcc", "gcc", "functions of a library")
	place := func(strip, function string) (uint64, error) {
		file := filepath.Join(t.TempDir(), "library.so")
		hosttools.Run(t, "testdata", "gcc", "-O1", "-fPIC", "-shared", "-nostdlib", "-Wl,--version-script=library.map", strip, "-o", file, "library.c")
		f := with(fake{})
		f.files["/library.so"] = string(require.Must(os.ReadFile(file))(t))
		a := attaching.Attachment{Way: attaching.Uprobe, Program: attaching.Empty, Target: "/library.so:" + function}
		if _, err := attaching.Attach(f, a, nil); err != nil {
			return 0, err
		}
		return binary.LittleEndian.Uint64(f.probe[64:]), nil
	}
	const whole, stripped = "-g", "-s"
	want := require.Must(place(whole, "new_version"))(t)
	for _, function := range []string{"twice", "again"} {
		for _, strip := range []string{whole, stripped} {
			require.Equal(t, require.Must(place(strip, function))(t), want, "%s lies at", function)
		}
	}
	require.NoError(t, require.Err(place(whole, "inner")))
	for function, want := range map[string]string{
		"foreign": "/library.so has foreign from another file: name that", "chosen": "several functions behind chosen, one of which is chosen when the program starts",
		"inner": "no function inner among those that it exports, and was stripped of the names of others", "variable": "no function variable",
	} {
		require.Error(t, require.Err(place(stripped, function)), want, "%s", function)
	}
}
