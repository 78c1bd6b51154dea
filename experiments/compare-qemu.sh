#!/bin/sh
# How fast the simulator is beside qemu on the same three guest loops: compare-qemu.sh [RUNS]
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
for tool in qemu-system-x86_64 gcc ld objcopy awk; do
	if ! command -v $tool >/dev/null; then
		echo "compare: skipped, there is no $tool here (Debian: qemu-system-x86 gcc binutils mawk)"
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

# Rounds of the short loop, and of the long one under qemu stepping and translating.
short=1000
rounds() {
	case $1-$2 in
	chase-step) echo 6000000 ;;
	chase-plain) echo 40000000 ;;
	*-step) echo 2000000 ;;
	*-plain) echo 20000000 ;;
	esac
}

# qemu_ns FILE ARGS...: host nanoseconds of one run.
qemu_ns() {
	file=$1
	shift
	begin=$(date +%s%N)
	status=0
	timeout 120 qemu-system-x86_64 -machine pc -m 64 -cpu qemu64 -display none -serial null \
		-device isa-debug-exit,iobase=0xf4 -no-reboot "$@" -kernel "$file" >/dev/null 2>&1 || status=$?
	end=$(date +%s%N)
	if [ $status -ne 1 ]; then # the guest leaves with this status
		echo "compare: qemu-system-x86_64 $* -kernel $file failed with status $status" >&2
		return 1
	fi
	echo $((end - begin))
}

# qemu_pair LOOP MODE ARGS...: one run of the short loop and one of the long one, and by how many
# rounds they differ.
qemu_pair() {
	loop=$1
	mode=$2
	shift 2
	a=$(qemu_ns "$tmp/$loop-short" "$@")
	b=$(qemu_ns "$tmp/$loop-$mode" "$@")
	echo "$loop $mode $a $b $(($(rounds "$loop" "$mode") - short))"
}

for loop in alu chase calls; do
	define=-DSPEED_$(echo $loop | tr a-z A-Z)
	sh workloads/bare/run.sh -o "$tmp/$loop-short" $define=$short
	for mode in step plain; do
		sh workloads/bare/run.sh -o "$tmp/$loop-$mode" $define="$(rounds $loop $mode)"
	done
done
$GO test -c -o "$tmp/speed.test" ./experiments

i=0
while [ $i -lt "$runs" ]; do
	for loop in alu chase calls; do
		(cd experiments && "$tmp/speed.test" -test.run '^$' -test.bench "^BenchmarkSpeed\$/^$loop\$" -test.benchtime 1s) |
			awk -v l=$loop '{ for (i = 2; i <= NF; i++) { if ($i == "MIPS") m = $(i-1); if ($i == "insns/round") r = $(i-1) } }
				END { print l, "sim", m; print l, "insns", r }' >>"$tmp/log"
		qemu_pair $loop step -accel tcg $step >>"$tmp/log"
		qemu_pair $loop plain -accel tcg >>"$tmp/log"
	done
	i=$((i + 1))
done

echo "$(qemu-system-x86_64 --version | head -n 1); simulated instructions a second of host time / 1e6, best of $runs"
awk '
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
		printf "%-6s %12s %22s %8s %22s\n", "loop", "kprobesim", "qemu, instruction-wise", "ratio", "qemu, free running"
		split("alu chase calls", loops, " ")
		for (i = 1; i <= 3; i++) {
			l = loops[i]
			s = mips(l, "step")
			printf "%-6s %12.1f %22.1f %8.2f %22.1f\n", l, sim[l], s, (s > 0 ? sim[l] / s : 0), mips(l, "plain")
		}
	}' "$tmp/log"
