package paper

import (
	"errors"
	"strings"
	"testing"

	"kprobesim/experiments/schema"
	"kprobesim/results"
)

// TestMissingMaterial has each function of the template ask for what there is not. The paper fails with the reason.
func TestMissingMaterial(t *testing.T) {
	reason := errors.New("nobody has run it")
	in := Input{
		Set:      func(string) (*results.Set, error) { return nil, reason },
		Plan:     func(string) (*schema.Plan, error) { return nil, reason },
		Searches: func() ([]Search, error) { return nil, reason },
		Name:     "x",
	}
	for _, call := range []string{
		`num (val "x" "k" "cycles_per_hit")`, `num (cycles "x" "k")`, `num (us "x" "k")`, `errors "x" "predicted"`, `sisters "x"`, `repeats "x"`,
		`num (most "x" "kernel.cpus")`, `num (distinct "x" "machine")`, `figure "x" "phases" ""`, `published "x"`, `setups "x"`, `machines "x"`,
		`users "x"`, `watches "x"`, `sources "x"`, `races`, `num schedules`, `num violations`, `num caught`, `num mutants`,
	} {
		in.Template = "<<" + call + ">>"
		if files, err := Make(in); !errors.Is(err, reason) || files != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
	in.Template, in.Set = `<<val "x" "k" "cycles_per_hit">>`, func(string) (*results.Set, error) { return &results.Set{}, nil }
	if _, err := Make(in); err == nil || !strings.Contains(err.Error(), `x has no cycles_per_hit of a point "k"`) {
		t.Errorf("an empty set: %v", err)
	}
}
