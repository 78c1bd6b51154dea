package running

import (
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
)

// MostProfiles bounds the points of a run's profile. Each takes about a megabyte while they are joined.
const MostProfiles = 128

// FewProfiles is a measure that forgets the profiles of points behind the first MostProfiles of a plan, because
// the profile of a run leaves them out: what a run has in memory for each of many points is then little.
func FewProfiles(p *schema.Plan, inner Measure) Measure {
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
