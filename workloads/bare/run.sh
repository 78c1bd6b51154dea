#!/bin/sh
# Builds the guest kernel for a bare PC and runs its self-test under qemu, an implementation of the
# processor that is not ours.
# run.sh [-i ISA] [-o FILE] [-DERA=YEAR] [-DSPEED_ALU=N|-DSPEED_CALLS=N|-DSPEED_CHASE=N] [-- QEMU-ARGS]
# With a SPEED define only that loop runs (after the test), long enough to be timed. With -o the kernel
# goes to FILE, to be run by somebody else.
set -eu
here=$PWD
cd "$(dirname "$0")"
defines=
output=
isa=x86_64
while [ $# -gt 0 ]; do
	case $1 in
	--) shift; break ;;
	-i) shift; isa=$1; shift ;;
	-o) shift; case $1 in /*) output=$1 ;; *) output=$here/$1 ;; esac; shift ;;
	*) defines="$defines $1"; shift ;;
	esac
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
k=../kernel
cd "$k"
. ./isa.sh
kernel=$(sources | grep -v /natives.S)
includes=$(echo "$includes" | sed "s|-I|-I$k/|g")
cd "$OLDPWD"
flags="-O2 -g -std=gnu11 -Wall -Wextra $includes -ffreestanding -fno-builtin $machine
 -fno-pic -fno-pie -fno-asynchronous-unwind-tables
 -fno-stack-protector -fno-strict-aliasing -fno-common
 -fno-optimize-sibling-calls -fno-ipa-ra"
objects=
for src in boot32.S natives.c selftest.c user.c $(for s in $kernel; do echo "$k/$s"; done); do
	obj=$tmp/$(echo "$src" | tr / _).o
	gcc $flags $defines -c "$src" -o "$obj"
	objects="$objects $obj"
done
# The same layout one megabyte higher; the stub below it, and behind that what belongs to user mode.
sed -e 's/OFFSET + 0x100000/OFFSET + 0x200000/' \
	-e 's/OFFSET + 0x10000;/OFFSET + 0x120000;/' \
	-e 's/^PHDRS {/&\n\tboot PT_LOAD FLAGS(7);/' \
	-e 's/^SECTIONS {/&\n\t.boot32 0x100000 : { boot32_start = .; *(.boot32) } :boot\n\tboot32_load_end = 0; boot32_bss_end = 0x800000;\n\t.boot32.tables 0x110000 (NOLOAD) : { *(.boot32.tables) } :boot/' \
	"$k/$arch/image.lds" >"$tmp/bare.lds.S"
gcc $flags $defines -E -P -x assembler-with-cpp "$tmp/bare.lds.S" -o "$tmp/bare.lds"
ld -m $format -nostdlib -static --build-id=none -z max-page-size=4096 -z noexecstack --no-warn-rwx-segments \
	-T "$tmp/bare.lds" -o "$tmp/bare.elf" $objects
objcopy -O binary "$tmp/bare.elf" "$tmp/bare.bin"
if [ -n "$output" ]; then
	cp "$tmp/bare.bin" "$output"
	exit
fi
status=0
qemu-system-x86_64 -machine pc,accel=tcg -m 64 -cpu qemu64 -display none -serial stdio \
	-device isa-debug-exit,iobase=0xf4 -no-reboot "$@" -kernel "$tmp/bare.bin" || status=$?
[ $status -eq 1 ]
