package planning

import (
	"testing"

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
