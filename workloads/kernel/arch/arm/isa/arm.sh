# What build.sh needs to know of ARM: A32 code for ARMv7-A without floating point, as kernels for Versatile Express
# boards were compiled. Tables for unwinding took the place of frame pointers (from memory).
#
# The compiler must be one for this machine: CROSS is what the names of its tools begin with.
CROSS=arm-linux-gnueabi-
machine="-marm -march=armv7-a -mfloat-abi=soft -mabi=aapcs-linux -mno-unaligned-access"
generic=-fomit-frame-pointer
format=armelf_linux_eabi
omit=
# How modules are told of it.
config="-DCONFIG_ARM=1"
