package workloads

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// buildEmulator links the guest's emulator of 64-bit Power instructions with a program that executes the same
// instructions. Text and data lie where absolute branches and addresses of 16 bits reach them.
const buildEmulator = `. ./arch/ppc64/isa/ppc64.sh
${CROSS}gcc $machine -DERA=2011 -DROUNDS=60 -O2 -std=gnu11 -Wall -Wextra -Werror -nostdinc -Iinclude -Iarch/ppc64/include \
	-ffreestanding -fno-builtin -fno-pic -fno-pie -fno-stack-protector -fno-strict-aliasing -fno-asynchronous-unwind-tables \
	-nostdlib -static -Wl,--build-id=none,-z,max-page-size=4096,--no-warn-rwx-segments,-Ttext=0x1000000 \
	-Wl,--section-start=.lowdata=0x4000,--section-start=.landing=0x5000,--section-start=.runner=0x1100000 \
	../testdata/emulate.c arch/ppc64/emulate*.c -o "$1"`

// Each form that the guest emulates does what a processor does: registers, condition, carry, memory and the next
// address.
func TestEmulatorAgainstProcessor(t *testing.T) {
	for _, tool := range []string{"powerpc64-linux-gnu-gcc", "qemu-ppc64"} {
		hosttools.Need(t, tool, "gcc-powerpc64-linux-gnu, qemu-user", "comparing the guest's emulator with a processor")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	file := filepath.Join(t.TempDir(), "emulate")
	build := exec.CommandContext(ctx, "sh", "-euc", buildEmulator, "sh", file)
	build.Dir = "kernel"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(ctx, "qemu-ppc64", "-cpu", "power5+", file).CombinedOutput()
	require.That(t, err == nil && strings.TrimSpace(string(out)) == "all forms agree", "%v\n%s", err, out)
}
