# What build.sh needs to know of ppc64: big-endian, functions by descriptors, with symbols that begin with a
# dot for their code, and one small table of contents for each file, as kernels were compiled for long. That of
# 2017 has one table for all, as its kernel has. No kernel had frame pointers.
#
# GCC unrolls small loops for this machine at -O2 since version 10, and renames registers (-fweb) with that, as
# -Q --help=optimizers prints; the compilers of those kernels did neither.
#
# The compiler must be one for this machine: CROSS is what the names of its tools begin with.
CROSS=powerpc64-linux-gnu-
machine="-m64 -mbig -mcpu=power5 -msoft-float -mno-altivec -mcall-aixdesc -mcmodel=small
 -mtraceback=no -mno-multiple -ffixed-r13 -fno-unroll-loops"
case ${era:-} in
2017) ;;
*) machine="$machine -mminimal-toc" ;;
esac
generic=-fomit-frame-pointer
format=elf64ppc
omit=
# What modules call has one entry of the table for each file, in every year: it is reached from far away.
library_machine=-mminimal-toc
# How modules are told of it.
config="-DCONFIG_PPC=1 -DCONFIG_PPC64=1 -DCONFIG_64BIT=1"
