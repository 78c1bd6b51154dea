package experiments

import (
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

func TestAccountOf(t *testing.T) {
	for _, c := range []struct {
		phase   string
		context int
		want    account
	}{
		{"workload", cpus.NoException, forWorkload},
		{"workload", cpus.Interrupted, forWorkload},
		{"user", cpus.NoException, forUser},
		{"handler", cpus.Breakpoint, forProbes},
		{"handler", cpus.Interrupted, forProbes}, // a probe in an interrupt handler
		{"entry", cpus.Breakpoint, forProbes},
		{"entry", cpus.Interrupted, forInterrupts},
		{"kernel", cpus.Interrupted, forInterrupts},
		{"irq", cpus.NoException, forInterrupts},
		{"stop", cpus.NoException, forStop},
		{"idle", cpus.NoException, forIdle},
		{"kernel", cpus.NoException, forKernel},
	} {
		if got := accountOf(c.phase, c.context); got != c.want {
			t.Errorf("phase %s in context %d is for %s, want %s", c.phase, c.context, accountNames()[got],
				accountNames()[c.want])
		}
	}
}

// TestAccountsAddUp holds the accounts of the main experiment against its phases.
func TestAccountsAddUp(t *testing.T) {
	p, err := NewLoader().Plan(e5410, []string{"workload.hits=50"})
	if err != nil {
		t.Fatal(err)
	}
	r := NewReport(p, (&Runner{Measure: MeasurePoint}).Run(p))
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Outcomes {
		var total, probes clock.Ticks
		for _, v := range o.Measurement.Accounts[0] {
			total += v
		}
		for i, name := range Phases(o.Point.ISA) {
			if name != "workload" && name != "kernel" {
				probes += o.Measurement.Probed.Phases[i]
			}
		}
		if total != o.Measurement.Probed.Time || o.Measurement.Accounts[0][forProbes] != probes || probes == 0 {
			t.Errorf("point %s: accounts of %d ticks, %d for probes; phases of %d and %d", o.Point.Name, total,
				o.Measurement.Accounts[0][forProbes], o.Measurement.Probed.Time, probes)
		}
	}
	files, err := r.Files()
	if err != nil {
		t.Fatal(err)
	}
	if csv := string(files[AccountsName]); !strings.HasPrefix(csv, "point,cpu,workload,user,probes,interrupts,stop_machine,kernel,idle,total\nk,0,") ||
		strings.Count(csv, "\n") != 7 {
		t.Errorf("%s is\n%s", AccountsName, csv)
	}
}

// TestAccountsOfUserMode has the time of CPUs that compute in user mode counted as that.
func TestAccountsOfUserMode(t *testing.T) {
	for _, load := range []string{LoadBusy, LoadUser} {
		p := smallPoint(t, KindLatency, "o", "workload.load="+load)
		m, err := MeasurePoint(p)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range m.Accounts {
			mine, other := forWorkload, forUser
			if load == LoadUser {
				mine, other = forUser, forWorkload
			}
			if a[mine] < clock.FromCycles(p.Machine.CPU.Hz/1000) || a[other] != 0 {
				t.Errorf("%s, cpu %d: %d cycles as %s, %d as %s", load, i, a[mine].Cycles(), accountNames()[mine],
					a[other].Cycles(), accountNames()[other])
			}
		}
	}
}
