package reports

import (
	"bytes"
	"fmt"

	"github.com/google/pprof/profile"

	"kprobesim/experiments/running"
)

// mergeProfiles joins the profiles of the points into one whose samples carry the label probe, so
// that `go tool pprof -tagfocus probe=k` looks at one of them. It returns nil when no point has a
// profile. Points behind the first running.MostProfiles are left out, which bounds the memory that merging takes; a comment in
// the profile says so, also of those whose profile is empty (running.FewProfiles).
func mergeProfiles(outcomes []running.Outcome) ([]byte, error) {
	var all []*profile.Profile
	left := 0
	for _, o := range outcomes {
		if o.Err != nil || o.Measurement.Profile == nil {
			continue
		}
		if len(all) == running.MostProfiles || len(o.Measurement.Profile) == 0 {
			left++
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
	if left > 0 {
		merged.Comments = append(merged.Comments, fmt.Sprintf("the first %d points; %d more are left out", len(all), left))
	}
	merged.TimeNanos, merged.DurationNanos = 0, 0
	var b bytes.Buffer
	if err := merged.Write(&b); err != nil {
		return nil, fmt.Errorf("writing profile: %w", err)
	}
	return b.Bytes(), nil
}
