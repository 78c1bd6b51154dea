# What run.sh does for x86. In: tmp, k, arch, format, flags. layout writes the linker script: the same one megabyte
# higher, with the stub below it, and behind that what belongs to user mode. binary makes what is booted,
# boot runs it and succeeds when the machine ends by its port.
layout() {
	sed -e 's/OFFSET + 0x100000/OFFSET + 0x200000/' \
		-e 's/OFFSET + 0x10000;/OFFSET + 0x120000;/' \
		-e 's/^PHDRS {/&\n\tboot PT_LOAD FLAGS(7);/' \
		-e 's/^SECTIONS {/&\n\t.boot32 0x100000 : { boot32_start = .; *(.boot32) } :boot\n\tboot32_load_end = 0; boot32_bss_end = 0x800000;\n\t.boot32.tables 0x110000 (NOLOAD) : { *(.boot32.tables) } :boot/' \
		"$k/$arch/image.lds"
}

binary() {
	objcopy -O binary "$1" "$2"
}

boot() {
	bin=$1
	shift
	status=0
	qemu-system-x86_64 -machine pc -m 64 -cpu qemu64 -display none -nodefaults -serial stdio \
		-device isa-debug-exit,iobase=0xf4 -no-reboot "$@" -kernel "$bin" || status=$?
	[ $status -eq 1 ]
}
