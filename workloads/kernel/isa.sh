# What building for an instruction set needs, for build.sh and for the self-test on a bare PC. In: isa,
# this folder as the current one. Out: arch, the folder of its family; what arch/*/isa/ISA.sh says of it;
# CROSS, what the names of the compiler's tools begin with; sources, which prints the files in the order of
# linking; library, which prints those that modules need; all_sources, which prints every file that an image depends on.
#
# A family is one folder: assembly, headers in include/asm, the layout of its images in image.lds, and a
# file in isa for each of its instruction sets. Nothing else names one.
arch=
CROSS=
for known in arch/*/isa/"$isa".sh; do
	if [ -f "$known" ]; then
		arch=${known%/isa/*}
		. "./$known"
	fi
done
if [ -z "$arch" ]; then
	echo "no ISA $isa: use one of" $(basename -s .sh arch/*/isa/*.sh) >&2
	exit 2
fi
includes="-nostdinc -Iinclude -I$arch/include"

# The folder arch/*/work is linked among the files of work: what has to be written anew for a family
# lies where it would lie if it could be shared. Addresses are part of what is measured.
files() {
	find "$arch" core work -name '*.[cS]' ! -name "$omit" |
		sed -e 's|.*|& &|' -e "s|^$arch/work/|work/|" | sort | cut -d' ' -f2
}

# What modules call. It is compiled against the headers that modules are compiled against.
library() {
	find lib -name '*.[cS]' | sort
}

# What a CPU executes first comes first, then what surrounds the interrupts of all families.
sources() {
	files | grep /boot
	files | grep /irq
	files | grep -v -e /boot -e /irq -e /kwatch
	files | grep /kwatch # they move nothing of kernels without watchpoints
}

# Other families do not count: an image is not stale because of them.
all_sources() {
	find . -type f ! -path './arch/*' -o -type f -path "./$arch/*" | sort
}
