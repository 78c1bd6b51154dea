#!/bin/sh
# Builds the guest kernel for a machine without the simulator and runs its self-test under qemu, an
# implementation of the processor that is not ours.
# run.sh [-i ISA] [-o FILE] [-DERA=YEAR] [-DSPEED_ALU=N|-DSPEED_CALLS=N|-DSPEED_CHASE=N] [-- QEMU-ARGS]
# With a SPEED define only that loop runs (after the test), long enough to be timed. With -o the kernel
# goes to FILE, to be run by somebody else. A folder beside this file has the part of each family of
# instruction sets.
set -eu
here=$PWD
cd "$(dirname "$0")"
defines=
output=
isa=x86_64
era=2010
while [ $# -gt 0 ]; do
	case $1 in
	--) shift; break ;;
	-i) shift; isa=$1; shift ;;
	-o) shift; case $1 in /*) output=$1 ;; *) output=$here/$1 ;; esac; shift ;;
	-DERA=*) era=${1#-DERA=}; defines="$defines $1"; shift ;;
	-DFENTRY) defines="$defines $1 -pg -mfentry -mnop-mcount -mrecord-mcount"; shift ;;
	*) defines="$defines $1"; shift ;;
	esac
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
k=../kernel
cd "$k"
. ./isa.sh
kernel=$(files)
natives=$(find . -name natives.S | sort)
includes=$(echo "$includes" | sed "s|-I|-I$k/|g")
cd "$OLDPWD"
family=$(basename "$arch")
. "./$family/run.sh"
flags="-O2 -std=gnu11 -Wall -Wextra $includes -I$family -ffreestanding -fno-builtin $machine
 -fno-pic -fno-pie -fno-asynchronous-unwind-tables
 -fno-stack-protector -fno-strict-aliasing -fno-common
 -fno-optimize-sibling-calls -fno-ipa-ra"
# Every function of the simulator that nothing here has a body for stops the test with its name.
stubs() {
	echo 'void no_such_native(const char *name);'
	(cd "$k" && sed -n -e 's/^\tNATIVE \([a-z0-9_]*\)$/void __attribute__((weak)) \1(void) { no_such_native("\1"); }/p' -e '/^#/{/include/!p}' $natives)
}

include() {
	printf '#include "%s"\n' "$@"
}

# Assembly gets frame.h once, as macros cannot be defined again. Each file begins as if it were alone.
assemble() {
	include frame.h
	awk 'FNR == 1 { printf ".text\n.noaltmacro\n#line 1 \"%s\"\n", FILENAME }
		{ print /^#include ".*frame\.h"$/ ? "" : $0 }' "$@"
}

# A compiler takes longer to start than to compile one of these files. So it gets a few units that include them, and
# a mistake has its file and line as ever. What is probed is noinline, so that most functions are as from a file of
# their own: nine of ten on x86-64, and not more of them with options against inlining.
# Files that have a name for different things are in different units: many.c has a RING that is not that of list.h,
# and kprobes_emulate.c has constants in a section where other files of its family have variables. The loops of
# speed.c stay together in a unit without other workloads, as how fast qemu runs them depends on their addresses.
assembly=
own=
shared=
tests="natives.c selftest.c user.c"
for src in $kernel; do
	case $src in
	*/natives.S) ;;
	*.S) assembly="$assembly $k/$src" ;;
	*/kprobes_emulate.c) tests="$tests $k/$src" ;;
	*/many.c) many=$k/$src ;;
	"$arch"/* | */speed.c) own="$own $k/$src" ;;
	*) shared="$shared $k/$src" ;;
	esac
done
assemble $assembly "$family"/*.S >"$tmp/assembly.S"
include $own >"$tmp/own.c"
include $shared >"$tmp/shared.c"
printf '#undef RING\n#include "%s"\n' "$many" >>"$tmp/shared.c"
include $tests "$family"/*.c >"$tmp/tests.c"
stubs >"$tmp/stubs.c"
objects=
for unit in assembly.S own.c shared.c tests.c stubs.c; do
	"${CROSS}gcc" $flags $defines -I. -iquote "$k/$arch" -c "$tmp/$unit" -o "$tmp/$unit.o"
	objects="$objects $tmp/$unit.o"
done
layout >"$tmp/bare.lds.S"
"${CROSS}gcc" $flags $defines -E -P -x assembler-with-cpp "$tmp/bare.lds.S" -o "$tmp/bare.lds"
"${CROSS}ld" -m $format -nostdlib -static --build-id=none -z max-page-size=4096 -z noexecstack --no-warn-rwx-segments \
	-T "$tmp/bare.lds" -o "$tmp/bare.elf" $objects
binary "$tmp/bare.elf" "$tmp/bare.bin"
if [ -n "$output" ]; then
	cp "$tmp/bare.bin" "$output"
	exit
fi
boot "$tmp/bare.bin" "$@"
