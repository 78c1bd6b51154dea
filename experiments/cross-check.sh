#!/bin/sh
# Debian's kernel beside the guest of 2020 on every x86-64 machine: cross-check.sh [PROGRAM [MACHINE...]]
#
# Prints the table of docs/fidelity.md: cycles of a hit, Debian's / the guest's. KPROBESIM_LINUX names the folder of Debian's
# kernel, which runs without mitigations, as the guest has none. Both probes have an empty handler of a module or of the guest.
set -eu
cd "$(dirname "$0")/.."
program=${1:-./kprobesim}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- $("$program" list machines | awk '$1 != "machines:" { print $1 }' | grep -v -e power -e cortex -e i386 -e pentium)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cat >"$tmp/debian.toml" <<'END'
name = "debian"
title = "probes of a packaged kernel without mitigations"
kind = "linux"
machine = "xeon-e5410"

[linux]
append = "console=ttyS0 pci=off acpi=off nosmp noapic nolapic initcall_blacklist=jent_mod_init,load_system_certificate_list cryptomgr.notests mitigations=off"

[workload]
loop = "getppid"
target = "__do_sys_getppid"
warmup = 200
hits = 1000

[[points]]
name = "none"
title = "the loop alone"
kind = "none"

[[points]]
name = "f"
title = "by ftrace"
kind = "kprobe"
mode = "ftrace"
handler = "empty"

[[points]]
name = "o"
title = "optimized"
kind = "kprobe"
mode = "optimized"
handler = "empty"

[[points]]
name = "k"
title = "stepped"
kind = "kprobe"
mode = "step"
handler = "empty"

[[points]]
name = "e"
title = "emulated"
kind = "kprobe"
mode = "emulated"
handler = "empty"
END

# figure FOLDER POINT: cycles per hit of the newest results there
figure() {
	awk -F, -v point="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		$column["probe"] == point && $column["metric"] == "cycles_per_hit" { sum += $column["value"]; n++ }
		END { if (n) printf "%.0f", sum / n; else printf "-" }' "$1"/*/results.csv
}
echo "| machine | by ftrace | optimized | stepped | emulated |"
echo "|---|---|---|---|---|"
for machine; do
	"$program" run "$tmp/debian.toml" --set machine="$machine" -o "$tmp/$machine/d" >"$tmp/log" 2>&1 || cat "$tmp/log" >&2
	for e in isas-x86_64-2020-entry isas-x86_64-2020 isas-x86_64-2020-emulated; do
		"$program" run $e --set machine="$machine" -o "$tmp/$machine/$e" >"$tmp/log" 2>&1 || cat "$tmp/log" >&2
	done
	d=$tmp/$machine/d
	echo "| $machine | $(figure "$d" f) / $(figure "$tmp/$machine/isas-x86_64-2020-entry" f)" \
		"| $(figure "$d" o) / $(figure "$tmp/$machine/isas-x86_64-2020" o)" \
		"| $(figure "$d" k) / $(figure "$tmp/$machine/isas-x86_64-2020" k)" \
		"| $(figure "$d" e) / $(figure "$tmp/$machine/isas-x86_64-2020-emulated" e) |"
done
