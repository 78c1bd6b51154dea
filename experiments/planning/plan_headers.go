package planning

import (
	"os"
	"os/exec"
	"path/filepath"
)

// Headers looks for the headers of a kernel's release: unpacked beside the kernel, beside its folder, or installed. It
// returns "" where there are none, or no tools to build a module with.
func Headers(kernel, release string) string {
	for _, tool := range []string{"sh", "make", "gcc-12", "objcopy"} {
		if _, err := exec.LookPath(tool); err != nil {
			return ""
		}
	}
	dir := filepath.Dir(kernel)
	for _, root := range []string{dir, filepath.Dir(dir), "/"} {
		at := filepath.Join(root, "usr", "src", "linux-headers-"+release)
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			return at
		}
	}
	return ""
}
