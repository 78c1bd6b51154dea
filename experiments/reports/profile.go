package reports

import (
	"bytes"
	"fmt"

	"github.com/google/pprof/profile"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
)

// MostProfiles bounds the points of a profile. Each takes about a megabyte while they are joined.
const MostProfiles = 128

// FewProfiles is a measure that forgets the profiles of points behind the first MostProfiles of a plan, because
// mergeProfiles leaves them out: what a run has in memory for each of many points is then little.
func FewProfiles(p *schema.Plan, inner running.Measure) running.Measure {
	late := map[*schema.Point]bool{}
	with := 0
	for i := range p.Points {
		if pt := &p.Points[i]; !pt.Further { // others have none
			late[pt] = with >= MostProfiles
			with++
		}
	}
	return func(pt *schema.Point) (*kinds.Measurement, error) {
		m, err := inner(pt)
		if err != nil || !late[pt] || m.Profile == nil {
			return m, err
		}
		less := *m
		less.Profile = []byte{}
		return &less, nil
	}
}

// mergeProfiles joins the profiles of the points into one whose samples carry the label probe, so
// that `go tool pprof -tagfocus probe=k` looks at one of them. It returns nil when no point has a
// profile. Points behind the first MostProfiles are left out, which bounds the memory that merging takes; a comment in
// the profile says so, also of those whose profile is empty (FewProfiles).
func mergeProfiles(outcomes []running.Outcome) ([]byte, error) {
	var all []*profile.Profile
	left := 0
	for _, o := range outcomes {
		if o.Err != nil || o.Measurement.Profile == nil {
			continue
		}
		if len(all) == MostProfiles || len(o.Measurement.Profile) == 0 {
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
