# What run.sh does for ARM: see run.sh of x86. The layout is the kernel's, with the stub at the end of the gap
# between the vectors and the text; the linker says when watchpoints reach so far. The machine's memory begins at 2 GiB, where the file goes as a whole. It ends by itself; what it has
# printed last says how.
layout() {
	sed -e 's/^PHDRS {/&\n\tboot PT_LOAD FLAGS(7);/' \
		-e 's/^SECTIONS {/&\n\t.boot 0x7000 : { *(.boot) } :boot/' "$k/$arch/image.lds"
}

binary() {
	"${CROSS}objcopy" -O binary "$1" "$2"
}

boot() {
	bin=$1
	shift
	QEMU_AUDIO_DRV=none qemu-system-arm -machine vexpress-a15,secure=off,virtualization=off -cpu cortex-a15 -m 256 -display none -nodefaults -serial stdio \
		-no-reboot -semihosting-config enable=on,target=native \
		-device loader,file="$bin",addr=0x80000000,force-raw=on -device loader,addr=0x80007000,cpu-num=0 \
		"$@" </dev/null | tee "$tmp/said"
	[ "$(tail -n 1 "$tmp/said")" = ok ]
}
