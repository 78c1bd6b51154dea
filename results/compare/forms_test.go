package compare

import (
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// written is one comparison in every form.
func written(t *testing.T) map[string]string {
	c := Compare(sides(t), rules(t, "[[waivers]]\nprobe = \"o\"\nreason = \"a,b: 50%\"\nexpires = \"2026-03-01\""))
	out := map[string]string{}
	for _, f := range Formats() {
		b := require.Must(f.Write([]*Comparison{c}))(t)
		out[f.Name] = string(b)
	}
	return out
}

func TestForms(t *testing.T) {
	out := written(t)
	for form, want := range map[string]string{
		"text":     "    waived   cycles_per_hit: 10 -> 20 cycles (+10, +100.000 %)\n             a,b: 50% (until 2026-03-01, checks.toml:1:3)\n",
		"markdown": "| k on m, i386 2005 | cycles_per_hit | 100 | 102 | +2.00 % | moved |\n",
		"github":   "::notice title=e o on m%2C i386 2005::cycles_per_hit: 10 -> 20 cycles (+10, +100.000 %25), waived: a,b: 50%25 (until 2026-03-01, checks.toml:1:3)%0ADiffers: ",
	} {
		require.That(t, strings.Contains(out[form], want), "%s has no %q:\n%s", form, want, out[form])
	}
	n := strings.Count(out["github"], "::error ")
	require.That(t, n == 3, "%d errors, want what moved, what is missing and what is new:\n%s", n, out["github"])
}

func TestJSON(t *testing.T) {
	text := written(t)["json"]
	var parsed []struct {
		Failed bool
		Inputs []string `json:"inputs_that_differ"`
		Points []struct {
			Probe    string
			Findings []struct{ Metric, Old, New, Percent, Verdict string }
		}
	}
	err := json.Unmarshal([]byte(text), &parsed)
	require.Need(t, err == nil && parsed[0].Failed && len(parsed[0].Inputs) == 3 && len(parsed[0].Points) == 4, "%v\n%s", err, text)
	f := parsed[0].Points[3].Findings[0]
	require.That(t, f.Metric == "cycles_per_hit" && f.Old == "100" && f.New == "102" && f.Percent == "2" && f.Verdict == "moved", "%+v", f)
}

func TestJUnit(t *testing.T) {
	text := written(t)["junit"]
	var j suites
	if err := xml.Unmarshal([]byte(text), &j); err != nil || j.Suites[0].Tests != 4 || j.Suites[0].Failures != 3 || j.Suites[0].Skipped != 1 {
		t.Errorf("%v\n%s", err, text)
	}
	s := sides(t)
	s.New = s.Old
	b, err := writeJUnit([]*Comparison{Compare(s, nil)})
	require.That(t, err == nil && strings.Contains(string(b), `<testcase classname="e" name="9 records"></testcase>`), "%v\n%s", err, b)
}
