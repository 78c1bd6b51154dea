#!/bin/sh
# Builds a program for an instruction set: build.sh x86_64|i386|arm OUTPUT [init|ask|measure|attach|work|insert|mark|background]. It needs gcc and binutils of
# Debian 12, for arm gcc-arm-linux-gnueabi.
set -eu
dir=$(dirname "$0")
program=${3:-init}
x86='-fcf-protection=none -mgeneral-regs-only' gcc=gcc
case $1 in
x86_64) width="$x86 -m64" ;;
i386) width="$x86 -m32 -march=i686" ;;
arm) width='-marm -march=armv7-a -mfloat-abi=soft' gcc=arm-linux-gnueabi-gcc ;;
*) echo "build.sh: no instruction set $1" >&2; exit 2 ;;
esac
source=$program
case $program in
attach) source=measure; width="$width -DATTACH" ;;
# Away from where other programs lie, so that none of them has code at the address of a marker.
work) source=measure; width="$width -DATTACH -DWORK -Wl,-Ttext-segment=0x70000000" ;;
esac
case $program in
# Its symbols are looked up, and probes of user mode need code that is not writable.
measure|attach|work) layout=-Wl,-x,-z,noseparate-code,-z,max-page-size=4096 ;;
# One segment with everything: the file stays small.
*) layout=-Wl,-N,-s ;;
esac
"$gcc" $width -Os -std=c11 -Wall -Wextra -Werror -ffreestanding -fno-pic -fno-stack-protector \
  -fno-asynchronous-unwind-tables -nostdlib -static -no-pie $layout -Wl,--build-id=none,-z,norelro \
  -o "$2" "$dir/$source.c"
