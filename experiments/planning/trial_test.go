package planning

import (
	"testing"

	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/targets"
)

// Every image boots for a trial, on a machine of its instruction set.
func TestTrialOfEveryImage(t *testing.T) {
	l := NewLoader()
	for _, target := range targets.List() {
		for _, im := range target.Images {
			p, err := l.Trial(im.Name, "")
			if err != nil {
				t.Errorf("%s: %v", im.Name, err)
				continue
			}
			require.That(t, p.Image.Name == im.Name && p.Kernel.Era == im.Era && p.Target.Name == target.Name, "%s: a trial of %s, era %s, %s", im.Name, p.Image.Name, p.Kernel.Era, p.Target.Name)
		}
	}
}

// TestMostPoints plans as many points as there may be, and refuses one more.
func TestMostPoints(t *testing.T) {
	l := NewLoader()
	n := len(require.Must(l.Plan("eras-x86_64-2005", nil))(t).Points)
	for more, want := range []string{"", "more than 10000000 points"} {
		root := require.Must(l.document("experiment", ".", "eras-x86_64-2005", ""))(t)
		p := &planner{l: l, plan: &schema.Plan{}, runs: mostPoints - n + more}
		p.expand(root, nil)
		if err := p.errs.Err(); want == "" {
			require.NoError(t, err)
		} else {
			require.Error(t, err, want, "points")
		}
	}
}
