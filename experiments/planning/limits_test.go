package planning_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/doc"
	"kprobesim/internal/require"
)

// described is a schema as editors read it.
type described struct {
	Type, Enum  []string
	Description string
	Items       *described
	Properties  map[string]*described
}

// numbers returns the keys that may have limits, each with a number beyond them. A list stands as its first element.
func (d *described) numbers(path string) (all []string) {
	for d.Items != nil {
		d, path = d.Items, path+".0"
	}
	for _, key := range slices.Sorted(maps.Keys(d.Properties)) {
		all = append(all, d.Properties[key].numbers(path+"."+key)...)
	}
	unit, ok := map[string]string{"": "", "a time": " s", "a size": " GiB"}[strings.Split(d.Description, ":")[0]]
	if path = strings.TrimPrefix(path, "."); ok && (unit != "" || slices.Contains(d.Type, "integer")) {
		all = append(all, path+"=1099511627777"+unit)
	}
	return all
}

// A madeUp experiment has a kind and a point.
type madeUp struct{ kind, point string }

// read reads it with a setting, or none. It returns what is said of the setting.
func (m madeUp) read(t *testing.T, setting string) (*schema.Experiment, string) {
	t.Helper()
	root := require.Must(doc.Parse("", fmt.Appendf(nil, "kind = %q\nkernel = {}\nlinux = {}\nworkload = {}\ncrowd = {}\nwrites = [{}]\npoints = [{with = [{}], %s}]", m.kind, m.point)))(t)
	if setting != "" {
		require.NoError(t, require.Must(doc.ParseSetting(setting))(t).Apply(root))
	}
	var errs doc.Errors
	e := planning.ReadExperiment(root, &errs)
	_, said, _ := strings.Cut(fmt.Sprint(errs.Err()), "--set "+setting)
	said, _, _ = strings.Cut(said, "\n")
	return e, said
}

// outside finds the least and the greatest value of a key in what refuses another one.
var outside = regexp.MustCompile(`is outside ((.+) to (.+))`)

// limits returns the limits of a key, "" where it has none or is unknown. It has both of them and the next numbers tried.
func (m madeUp) limits(t *testing.T, beyond string) string {
	t.Helper()
	_, said := m.read(t, beyond)
	found := outside.FindStringSubmatch(said)
	if found == nil {
		return ""
	}
	key, _, _ := strings.Cut(beyond, "=")
	text := key + ": " + found[1]
	for i, limit := range found[2:] {
		if _, said := m.read(t, key+"="+limit); said != "" {
			text += "; " + limit + said
		}
		if n, err := strconv.Atoi(limit); err == nil {
			next := fmt.Sprint(n + 2*i - 1)
			_, said := m.read(t, key+"="+next)
			require.That(t, strings.HasSuffix(said, next+" "+found[0]), "%s with %s=%s: %q", m, key, next, said)
		}
	}
	return text
}

// TestLimitsOfKeys reads experiments of each kind and with each kind of point, of which next to nothing is said. The golden file has
// what they are then, and the limits of keys.
func TestLimitsOfKeys(t *testing.T) {
	exptest.Alone(t)
	var experiment described
	require.NoError(t, json.Unmarshal(require.Must(json.Marshal(planning.NewLoader().ExperimentSchema()))(t), &experiment))
	points := []string{`watch = "write"`, `kind = "object", event = "cycles"`, `kind = "object", event = "cpu-clock"`}
	for _, kind := range experiment.Properties["points"].Items.Properties["kind"].Enum {
		points = append(points, fmt.Sprintf("kind = %q", kind))
	}
	var out strings.Builder
	limits := map[string][]string{}
	try := func(m madeUp, part func(e *schema.Experiment) any, ofPoints bool) {
		e, _ := m.read(t, "")
		fmt.Fprintf(&out, "%s, %s: %s\n", m.kind, m.point, require.Must(json.Marshal(part(e)))(t))
		for _, beyond := range experiment.numbers("") {
			if strings.HasPrefix(beyond, "points.") != ofPoints {
				continue
			}
			if l := m.limits(t, beyond); l != "" {
				limits[l] = append(limits[l], m.kind)
			}
		}
	}
	for _, kind := range planning.Kinds() {
		try(madeUp{kind, ""}, func(e *schema.Experiment) any { return e }, false)
	}
	for _, kind := range []string{schema.KindOverhead, schema.KindLinux, schema.KindLinuxWorkload} {
		for _, point := range points {
			try(madeUp{kind, point}, func(e *schema.Experiment) any { return e.Probes }, true)
		}
	}
	for _, limit := range slices.Sorted(maps.Keys(limits)) {
		fmt.Fprintf(&out, "%s (%s)\n", limit, strings.Join(slices.Compact(limits[limit]), ", "))
	}
	exptest.Golden(t, "limits.txt", out.String())
}
