# What building for an ISA needs, for build.sh and for the self-test on a bare PC. In: isa, this
# folder as the current one. Out: the compiler's options, the linker's format, and sources, which
# prints the files in the order of linking. For i386 NAME_32.S stands in for NAME.S.
#
# i386 is compiled for the i686, as distributions did, and copies structures as compilers of the time
# did: without the strategy this one copies the registers word by word in a loop.
case $isa in
x86_64) machine="-m64 -mcmodel=kernel -mno-red-zone" format=elf_x86_64 ;;
i386)
	machine="-m32 -march=i686 -mregparm=3 -mpreferred-stack-boundary=2
 -mmemcpy-strategy=rep_4byte:-1:noalign"
	format=elf_i386
	;;
*)
	echo "no ISA $isa: use x86_64 or i386" >&2
	exit 2
	;;
esac

files() {
	find arch/x86 core work -name '*.[cS]' ! -name '*_32.S' | sort | while read -r src; do
		sibling=${src%.S}_32.S
		if [ "$isa" = i386 ] && [ -f "$sibling" ]; then src=$sibling; fi
		echo "$src"
	done
}

sources() {
	files | grep /boot
	files | grep -v /boot
}
