# What build.sh needs to know of i386, as x86_64.sh beside it does.
#
# The code is compiled for the i686, as distributions did. Structures are copied as compilers of the
# time did it: without the strategy this one copies the registers word by word in a loop.
machine="-m32 -march=i686 -mregparm=3 -mpreferred-stack-boundary=2 -mgeneral-regs-only
 -mmemcpy-strategy=rep_4byte:-1:noalign -fcf-protection=none"
generic=-mtune=generic
format=elf_i386
omit='*_64.S'
# How modules are told of it.
config="-DCONFIG_X86=1 -DCONFIG_X86_32=1"
