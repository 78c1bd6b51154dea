# What run.sh does for ppc64: see run.sh of x86. The layout is the kernel's, with the stub at the end of the gap
# between the vectors and the text; the linker says when watchpoints, at its beginning, reach so far. The machine
# begins at 0x100, where a branch to the stub goes. It ends by itself; what it has printed last says how.
layout() {
	sed -e 's/^PHDRS {/&\n\tboot PT_LOAD FLAGS(7);/' \
		-e 's/^SECTIONS {/&\n\t.boot 0x3c00 : { *(.boot) } :boot/' "$k/$arch/image.lds"
}

# The file begins with real address 0. 0x48003b00 is a branch from 0x100 to 0x3c00.
binary() {
	"${CROSS}objcopy" -O binary "$1" "$2.100"
	head -c 256 /dev/zero >"$2"
	cat "$2.100" >>"$2"
	printf '\110\000\073\000' | dd of="$2" bs=1 seek=256 conv=notrunc status=none
}

boot() {
	bin=$1
	shift
	qemu-system-ppc64 -machine pseries,cap-hpt-max-page-size=16777216 -cpu power5+ -m 256 -display none \
		-nodefaults -serial stdio -no-reboot "$@" -bios "$bin" </dev/null | tee "$tmp/said"
	[ "$(tail -n 1 "$tmp/said")" = ok ]
}
