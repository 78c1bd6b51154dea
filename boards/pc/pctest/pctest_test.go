package pctest

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

var updateMany = flag.Bool("update-many", false, "write testdata/many.elf")

// TestManyGuestIsFresh builds testdata/many.elf again.
func TestManyGuestIsFresh(t *testing.T) {
	cc := "x86_64-linux-gnu-gcc"
	if _, err := exec.LookPath(cc); err != nil {
		if cc = "gcc"; runtime.GOARCH != "amd64" {
			t.Skip("skipped: building testdata/many.S; x86_64-linux-gnu-gcc is not installed")
		}
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skip("skipped: building testdata/many.S; gcc is not installed")
	}
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	for _, args := range [][]string{
		{"-c", "-o", "many.o", dir + "/many.S"},
		{
			"-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none", "-Wl,-z,noexecstack",
			"-Wl,-T," + dir + "/many.lds", "-o", "many.elf", "many.o",
		},
	} {
		cmd := exec.Command(cc, args...)
		cmd.Dir = tmp
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, msg)
		}
	}
	got, err := os.ReadFile(filepath.Join(tmp, "many.elf"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/many.elf")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		if *updateMany {
			if err := os.WriteFile("testdata/many.elf", got, 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("testdata/many.elf is not what %s builds from many.S: build it with -update-many", cc)
	}
}
