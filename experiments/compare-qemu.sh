#!/bin/sh
# How fast the simulator is beside qemu on the same three guest loops of x86-64, ppc64 and ARM: compare-qemu.sh [RUNS]
# The variable LOOPS chooses some of them.
#
# qemu translates code to the host's and models no time; with one translated block an instruction
# (-singlestep, later -one-insn-per-tb) it looks at every instruction, as a simulator with timing must.
# Both run by turns, RUNS times (3); the best of each counts, since other work on the host only slows.
# qemu is timed on two lengths of a loop and the difference taken, so its start and the guest's boot
# do not count; instructions a round are those that the simulator counts.
set -eu
cd "$(dirname "$0")/.."
runs=${1:-3}
GO=${GO:-go}
for tool in qemu-system-x86_64 qemu-system-ppc64 qemu-system-arm gcc ld objcopy powerpc64-linux-gnu-gcc arm-linux-gnueabi-gcc awk; do
	if ! command -v $tool >/dev/null; then
		echo "compare: skipped, there is no $tool here" \
			"(Debian: qemu-system-x86 qemu-system-ppc qemu-system-arm gcc binutils gcc-powerpc64-linux-gnu" \
			"gcc-arm-linux-gnueabi mawk)"
		exit 0
	fi
done
if qemu-system-x86_64 -help | grep -q '^-one-insn-per-tb'; then
	step=-one-insn-per-tb
elif qemu-system-x86_64 -help | grep -q '^-singlestep'; then
	step=-singlestep
else
	step='-accel tcg,one-insn-per-tb=on'
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Loops by their names in BenchmarkSpeed: without a prefix they are those of x86-64.
loops=${LOOPS:-"alu chase calls ppc64-alu ppc64-chase ppc64-calls arm-a15-alu arm-a15-chase arm-a15-calls"}
isa() {
	case $1 in
	ppc64-*) echo ppc64 ;;
	arm-*) echo arm ;;
	*) echo x86_64 ;;
	esac
}

# Rounds of the short loop, and of the long one under qemu stepping and translating.
short=1000
rounds() {
	case ${1##*-}-$2 in
	chase-step) echo 6000000 ;;
	chase-plain) echo 40000000 ;;
	*-step) echo 2000000 ;;
	*-plain) echo 20000000 ;;
	esac
}

# emulate ISA FILE ARGS...: one run of qemu as the self-test has it, which succeeds when the guest has ended by itself.
emulate() {
	case $1 in
	x86_64) family=x86 ;;
	*) family=$1 ;;
	esac
	shift
	tmp=$tmp QEMU_AUDIO_DRV=none timeout 120 sh -c '. "$0"; boot "$@"' "workloads/bare/$family/run.sh" "$@" >/dev/null 2>&1
}

# qemu_ns ISA FILE ARGS...: host nanoseconds of one run.
qemu_ns() {
	begin=$(date +%s%N)
	if ! emulate "$@"; then
		echo "compare: the run of qemu failed: $*" >&2
		return 1
	fi
	end=$(date +%s%N)
	echo $((end - begin))
}

# qemu_pair LOOP MODE ARGS...: one run of the short loop and one of the long one, and by how many
# rounds they differ.
qemu_pair() {
	loop=$1
	mode=$2
	shift 2
	a=$(qemu_ns "$(isa "$loop")" "$tmp/$loop-short" "$@")
	b=$(qemu_ns "$(isa "$loop")" "$tmp/$loop-$mode" "$@")
	echo "$loop $mode $a $b $(($(rounds "$loop" "$mode") - short))"
}

for loop in $loops; do
	define=-DSPEED_$(echo ${loop##*-} | tr a-z A-Z)
	sh workloads/bare/run.sh -i "$(isa "$loop")" -o "$tmp/$loop-short" $define=$short
	for mode in step plain; do
		sh workloads/bare/run.sh -i "$(isa "$loop")" -o "$tmp/$loop-$mode" $define="$(rounds $loop $mode)"
	done
done
$GO test -c -o "$tmp/speed.test" ./experiments

i=0
while [ $i -lt "$runs" ]; do
	for loop in $loops; do
		(cd experiments && "$tmp/speed.test" -test.run '^$' -test.bench "^BenchmarkSpeed\$/^$loop\$/^window\$" -test.benchtime 1s) |
			awk -v l=$loop '{ for (i = 2; i <= NF; i++) { if ($i == "MIPS") m = $(i-1); if ($i == "insns/round") r = $(i-1) } }
				END { print l, "sim", m; print l, "insns", r }' >>"$tmp/log"
		qemu_pair $loop step -accel tcg $step >>"$tmp/log"
		qemu_pair $loop plain -accel tcg >>"$tmp/log"
	done
	i=$((i + 1))
done

echo "$(qemu-system-x86_64 --version | head -n 1); simulated instructions a second of host time / 1e6, best of $runs"
awk -v loops="$loops" '
	$2 == "insns" { insns[$1] = $3 }
	$2 == "sim" && $3 > sim[$1] { sim[$1] = $3 }
	NF == 5 {
		k = $1 " " $2
		if (!(k in a) || $3 < a[k]) a[k] = $3
		if (!(k in b) || $4 < b[k]) b[k] = $4
		n[k] = $5
	}
	function mips(l, m, k) {
		k = l " " m
		return (k in n && b[k] > a[k]) ? insns[l] * n[k] / (b[k] - a[k]) * 1000 : 0
	}
	END {
		printf "%-12s %12s %22s %8s %22s\n", "loop", "kprobesim", "qemu, instruction-wise", "ratio", "qemu, free running"
		n_loops = split(loops, name, " ")
		for (i = 1; i <= n_loops; i++) {
			l = name[i]
			s = mips(l, "step")
			printf "%-12s %12.1f %22.1f %8.2f %22.1f\n", l, sim[l], s, (s > 0 ? sim[l] / s : 0), mips(l, "plain")
		}
	}' "$tmp/log"
