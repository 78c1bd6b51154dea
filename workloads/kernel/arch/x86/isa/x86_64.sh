# What build.sh needs to know of x86-64: the compiler's options, those for processors in general, the
# linker's format, and which files of this folder belong to the other instruction set of the family.
machine="-m64 -mcmodel=kernel -mno-red-zone -mgeneral-regs-only -fcf-protection=none"
generic=-mtune=generic
format=elf_x86_64
omit='*_32.S'
# How modules are told of it.
config="-DCONFIG_X86=1 -DCONFIG_X86_64=1 -DCONFIG_64BIT=1"
