package main

import (
	"strings"
	"testing"
)

// TestRaces runs the command as people do: exit code, what is printed, and what is said of mistakes.
func TestRaces(t *testing.T) {
	for _, tt := range []struct {
		args     string
		code     int
		out, err string // parts of what is printed
	}{
		{"races jump-into -n 13 --per-scenario", exitOK, "jump-into  i386-breakpoint  5 ", "a second"},
		{"races jump-into -n 15 --per-scenario", exitOK, "jump-into  i386-breakpoint  5 ", ""},
		{"races optimize --variant stop_machine -n 3 --policy exhaustive", exitOK, "more are left: run more", ""},
		{"races jump-into --variant breakpoint -n 3 --mutant jump-into-region --violations 1", exitFailed, "--mutant jump-into-region --replay 0", "1 schedule with violations"},
		{"races jump-into --variant breakpoint --mutant jump-into-region --replay 0 --lines 5", exitFailed, "work_tight_loop+0x3", "schedule 0 has a violation: inside"},
		{"races jump-into --variant breakpoint --replay 1", exitOK, "no violation", ""},
		{"races", exitUsage, "", "name a scenario"},
		{"races optimise", exitUsage, "", `did you mean "optimize"?`},
		{"races optimize --variant stopped", exitUsage, "", `no variant "stopped"`},
		{"races optimize --replay 3", exitUsage, "", "choose one by --variant"},
		{"races optimize --policy fair", exitUsage, "", `policy "fair" is unknown`},
		{"races optimize --mutant none", exitUsage, "", `mutant "none" is unknown`},
		{"races optimize --schedules 0", exitUsage, "", "0 schedules"},
	} {
		var out, err strings.Builder
		if code := run(strings.Fields(tt.args), &out, &err); code != tt.code {
			t.Errorf("%s: exit code %d, want %d\n%s", tt.args, code, tt.code, err.String())
		}
		if !strings.Contains(out.String(), tt.out) || !strings.Contains(err.String(), tt.err) {
			t.Errorf("%s: printed\n%s%s\nwant %q and %q", tt.args, out.String(), err.String(), tt.out, tt.err)
		}
	}
}
