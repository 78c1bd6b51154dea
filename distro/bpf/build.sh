#!/bin/sh
# Builds an object file with programs of BPF: build.sh SOURCE OUTPUT. It needs clang and llvm of Debian 12. The object file
# does not depend on the folder of the repository.
set -eu
clang -target bpfel -mcpu=v3 -O2 -g -ffile-compilation-dir=. -Wall -Wextra -Wno-unused-parameter -Werror -c -o "$2" "$1"
llvm-strip -g "$2"
