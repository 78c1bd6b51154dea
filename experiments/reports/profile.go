package reports

import (
	"bytes"
	"fmt"

	"github.com/google/pprof/profile"

	"kprobesim/experiments/running"
)

// mergeProfiles joins the profiles of the points into one whose samples carry the label probe, so
// that `go tool pprof -tagfocus probe=k` looks at one of them. It returns nil when no point has a
// profile.
func mergeProfiles(outcomes []running.Outcome) ([]byte, error) {
	var all []*profile.Profile
	for _, o := range outcomes {
		if o.Err != nil || o.Measurement.Profile == nil {
			continue
		}
		p, err := profile.ParseData(o.Measurement.Profile)
		if err != nil {
			return nil, fmt.Errorf("profile of point %s: %w", o.Point.Name, err)
		}
		p.SetLabel("probe", []string{o.Point.Name})
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, nil
	}
	merged, err := profile.Merge(all)
	if err != nil {
		return nil, fmt.Errorf("merging profiles: %w", err)
	}
	merged.TimeNanos, merged.DurationNanos = 0, 0
	var b bytes.Buffer
	if err := merged.Write(&b); err != nil {
		return nil, fmt.Errorf("writing profile: %w", err)
	}
	return b.Bytes(), nil
}
