#!/bin/sh
# Builds a program for an instruction set: build.sh x86_64|i386 OUTPUT [init|ask]. It needs gcc and binutils of Debian 12.
set -eu
dir=$(dirname "$0")
case $1 in
x86_64) width=-m64 ;;
i386) width='-m32 -march=i686' ;;
*) echo "build.sh: no instruction set $1" >&2; exit 2 ;;
esac
# One segment with everything: the file stays small.
gcc $width -Os -std=c11 -Wall -Wextra -Werror -ffreestanding -fno-pic -fno-stack-protector -fcf-protection=none \
  -fno-asynchronous-unwind-tables -mgeneral-regs-only -nostdlib -static -no-pie -Wl,-N,--build-id=none,-s,-z,norelro \
  -o "$2" "$dir/${3:-init}.c"
