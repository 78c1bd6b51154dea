#!/bin/sh
# Builds a module for a kernel: build.sh HEADERS OUTPUT [SOURCE]. HEADERS is the folder linux-headers-VERSION of the kernel's
# packages, which need not be installed. Without SOURCE it is the module with empty handlers. What a source NAME.c includes
# is in the folder NAME beside it. It takes make and gcc 12, for a kernel of ARM that of gcc-arm-linux-gnueabi.
set -eu
dir=$(cd "$(dirname "$0")" && pwd)
headers=$(cd "$1" && pwd)
release=${headers##*/linux-headers-}
common=$(sed -n 's,^include .*/\(linux-headers-[^/]*\)/Makefile$,\1,p' "$headers/Makefile")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=${3:-$dir/kprobesim_empty.c}
name=$(basename "$source" .c)
cp "$source" "$work"
[ ! -d "${source%.c}" ] || cp -r "${source%.c}" "$work"
echo "obj-m := $name.o" >"$work/Kbuild"
arch=x86 cross=
if [ -d "$headers/arch/arm" ]; then
  arch=arm cross=arm-linux-gnueabi-
fi
# Types of the module for BPF would take another tool, and no probe needs them.
# The packages' own Makefile names its other half, and from 6.13 on also itself, by the folder where that would be installed.
make -s -C "$headers" -f "${headers%/*}/$common/Makefile" ARCH=$arch CROSS_COMPILE=$cross KBUILD_OUTPUT="$headers" KERNELRELEASE="$release" CC="${cross}gcc-12" \
  M="$work" CONFIG_DEBUG_INFO_BTF_MODULES= modules
"${cross}objcopy" --strip-debug "$work/$name.ko" "$2"
