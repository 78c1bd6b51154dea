# What build.sh needs to know of ppc64: big-endian, functions by descriptors, with symbols that begin with a
# dot for their code, and one small table of contents for each file, as kernels of 2005 were compiled.
#
# The compiler must be one for this machine: CROSS is what the names of its tools begin with.
CROSS=powerpc64-linux-gnu-
machine="-m64 -mbig -mcpu=power5 -msoft-float -mno-altivec -mcall-aixdesc -mcmodel=small -mminimal-toc
 -mtraceback=no -mno-multiple -ffixed-r13"
generic=
format=elf64ppc
omit=
