#!/bin/sh
# Builds the guest image of one era and instruction set: build.sh OUTPUT [ERA [ISA]]. The era is a year
# of include/linux/era.h, and options behind it as in YEAR-OPTION-OPTION; the instruction set is one of
# arch/*/isa. Needs gcc and GNU ld; the bytes depend only on the sources and on the versions of these two.
#
#	preempt		kernel code is preempted
#	stepping	no boosting, for a kernel of i386 of 2006
#	trapping	return probes come back by a breakpoint, the same
#	userprobes	address spaces of user tasks, and probes of user space
#	ordered		barriers that searches for races have shown to be missing, which kernels with preemption have too
#	nokprobes	no CONFIG_KPROBES: nobody listens for breakpoints, and faults ask for no probe; its code stays
#	untraced	functions do not begin with a nop for the function tracer, for a kernel of 2020
#	nmi		NMIs are served, and what they execute takes probes, for a kernel of x86
#	runlatch	exceptions set the run latch, for a kernel of ppc64
set -eu
cd "$(dirname "$0")"
out=${1:?usage: build.sh OUTPUT [ERA [ISA]]}
variant=${2:-2010}
isa=${3:-x86_64}
era=${variant%%-*}
options=
# Kernels of 2020 find their stacks without frame pointers.
traced=
[ "$era" != 2020 ] || traced="-DFENTRY -pg -mfentry -mnop-mcount -mrecord-mcount"
for option in $(echo "${variant#"$era"}" | tr - ' '); do
	case $era-$option in
	2010-preempt | 2014-preempt | 2017-preempt | 2020-preempt) options="$options -DPREEMPT" ;;
	2006-stepping) options="$options -DNO_BOOST" ;;
	2006-trapping) options="$options -DTRAP_RETURNS" ;;
	2005-userprobes | 2010-userprobes) options="$options -DUSERPROBES" ;;
	2010-ordered | 2014-ordered | 2017-ordered) options="$options -DORDERED" ;;
	2010-nokprobes) options="$options -DNO_KPROBES" ;;
	2020-untraced) traced= ;;
	2010-nmi | 2020-nmi) options="$options -DNMI" ;;
	*-runlatch) options="$options -DRUNLATCH" ;;
	*)
		echo "no kernel $variant: use a year of include/linux/era.h, 2010, 2014, 2017 or 2020 with -preempt, 2010, 2014 or 2017 with -ordered, 2010 or 2020 with -nmi, 2010 with -nokprobes, 2020 with -untraced, or 2006 with -stepping, -trapping or both" >&2
		exit 2
		;;
	esac
done
case $out in /*) ;; *) out=$OLDPWD/$out ;; esac
export LC_ALL=C
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

. ./isa.sh
cc=${CC:-${CROSS}gcc}
# The hash of the sources goes into the image: a stale image is noticed without a compiler.
hash=$(all_sources | xargs sha256sum | sha256sum | cut -d' ' -f1)
printf 'const char kernel_source_hash[] = "%s";\n' "$hash" >"$tmp/hash.c"
echo "const int kernel_era = $era;" >>"$tmp/hash.c"
case $options in *NO_KPROBES*) echo "const int kernel_without_kprobes = 1;" >>"$tmp/hash.c" ;; esac

# Kernels of 2005 and 2006 were built without frame pointers, those of 2010 with them and for processors
# in general.
case $era in
2005 | 2006) frames=-fomit-frame-pointer ;;
2020) frames="$generic $traced" ;;
*) frames="-fno-omit-frame-pointer $generic" ;;
esac
module_config="-D__KERNEL__ -DMODULE -DCONFIG_MODULES=1 -DCONFIG_KALLSYMS=1 -DCONFIG_KPROBES=1 -DCONFIG_KRETPROBES=1"
case $options in *PREEMPT*) module_config="$module_config -DCONFIG_PREEMPT=1" ;; esac
module_flags="-O2 -g -gdwarf-4 -std=gnu11 -ffreestanding -fno-builtin -fno-pic -fno-pie
 -fno-asynchronous-unwind-tables -fno-stack-protector -fno-strict-aliasing -fno-common"
flags="-DERA=$era $options -O2 -g -gdwarf-4 -std=gnu11 -Wall -Wextra -Werror
 -ffreestanding -fno-builtin $machine -fno-pic -fno-pie
 -fno-asynchronous-unwind-tables -fno-stack-protector $frames
 -fno-strict-aliasing -fno-common -fno-toplevel-reorder -fno-ipa-cp -fno-ipa-sra
 -fno-optimize-sibling-calls -fno-ipa-ra
 -gno-record-gcc-switches -ffile-prefix-map=$PWD=. -ffile-prefix-map=$tmp=.
 -frandom-seed=kprobesim -Wa,--gen-debug"

# What modules are compiled with, for those who write their headers: in the file, and not in memory.
cat >"$tmp/flags" <<END
CROSS=$CROSS
FAMILY=$(basename "$arch")
FLAGS=$(echo -DERA=$era $options $config $module_config $machine ${library_machine:-} $frames $module_flags)
END
cat >>"$tmp/hash.c" <<END
asm(".section .module_flags, \"\", %progbits; .incbin \"$tmp/flags\"; .previous");
END

objects=
for src in $(sources) $(library) "$tmp/hash.c"; do
	obj=$tmp/$(echo "$src" | tr / _).o
	case $src in
	lib/*) more="-Imodule/include $includes ${library_machine:-}" ;;
	*) more=$includes ;;
	esac
	$cc $flags $more -c "$src" -o "$obj"
	objects="$objects $obj"
done
$cc $flags $includes -E -P -x assembler-with-cpp "$arch/image.lds" -o "$tmp/image.lds"
${CROSS}ld -m $format -nostdlib -static --build-id=none -z max-page-size=4096 -z noexecstack \
	--no-warn-rwx-segments -T "$tmp/image.lds" -o "$tmp/image.elf" $objects
cp "$tmp/image.elf" "$out.new"
mv "$out.new" "$out"
