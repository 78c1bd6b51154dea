package planning

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Headers looks for the headers of a kernel's release: unpacked beside the kernel, beside its folder, or installed. It
// returns "" where there are none, or no tools to build a module with.
func Headers(kernel, release string) string {
	dir := filepath.Dir(kernel)
	for _, root := range []string{dir, filepath.Dir(dir), "/"} {
		at := filepath.Join(root, "usr", "src", "linux-headers-"+release)
		if info, err := os.Stat(at); err == nil && info.IsDir() && slices.IndexFunc(tools(at), missing) < 0 {
			return at
		}
	}
	return ""
}

// tools lists what a module is built with for a kernel, by the folder of its headers.
func tools(headers string) []string {
	prefix := ""
	if _, err := os.Stat(filepath.Join(headers, "arch", "arm")); err == nil {
		prefix = armTools
	}
	return []string{"sh", "make", prefix + "gcc-12", prefix + "objcopy"}
}

// armTools is the prefix of tools for ARM.
const armTools = "arm-linux-gnueabi-"

func missing(tool string) bool {
	_, err := exec.LookPath(tool)
	return err != nil
}
