package kinds

import (
	"bytes"
	"fmt"

	"kprobesim/internal/clock"
	"kprobesim/kprobes"
	"kprobesim/workloads"
)

// crowdTimes are the times of registering a crowd, and of arming it where the kernel arms in a step of its own.
type crowdTimes struct{ register, arm clock.Ticks }

// addCrowd registers the crowd of the point and notes what that took. Where the kernel can register a probe disabled,
// arming is a step of its own, so that the two can be timed. Nothing of the outcome depends on that.
func (s *session) addCrowd() error {
	sites, err := s.crowdSites()
	if err != nil {
		return err
	}
	spec := kprobes.Spec{Kind: kprobes.Kprobe, Handler: "handler_empty", Disabled: true}
	apart := spec.Check(s.probes.Year()) == nil
	spec.Disabled = apart || s.p.Crowd.Disabled
	from := s.m.Now()
	for _, site := range sites {
		spec.Symbol, spec.Offset = site.Symbol, site.Offset
		p, err := s.probes.Add(s.call, spec)
		if err != nil {
			return fmt.Errorf("probe %d of the crowd: %w", len(s.crowd)+1, err)
		}
		s.crowd = append(s.crowd, p)
	}
	s.crowded.register = s.m.Now() - from
	if s.p.Crowd.Disabled || !apart {
		return nil
	}
	from = s.m.Now()
	for _, p := range s.crowd {
		if err := s.probes.Enable(s.call, p); err != nil {
			return err
		}
	}
	s.crowded.arm = s.m.Now() - from
	return nil
}

// crowdSites chooses the places of the crowd: first those in the bucket of the point's probe, then others in the
// order of the image's list.
func (s *session) crowdSites() ([]workloads.Site, error) {
	c := s.p.Crowd
	if c.Size() == 0 {
		return nil, nil
	}
	all, err := s.crowdText()
	if err != nil {
		return nil, err
	}
	im := s.m.Image()
	target, _ := im.Func(s.p.Workload.Target)
	bucket := s.probes.Bucket(target.Entry + s.p.Workload.Offset)
	var same, others []workloads.Site
	for _, site := range all {
		f, ok := im.Func(site.Symbol)
		switch {
		case !ok:
			return nil, fmt.Errorf("image %s has no function %s: build it from the sources of this version", im.Name, site.Symbol)
		case int64(len(same)) < c.SameBucket && s.probes.Bucket(f.Entry+site.Offset) == bucket:
			same = append(same, site)
		default:
			others = append(others, site)
		}
	}
	if int64(len(same)) < c.SameBucket {
		return nil, fmt.Errorf("crowd.same_bucket = %d: image %s has %d places in the bucket of %s+%#x", c.SameBucket,
			im.Name, len(same), s.p.Workload.Target, s.p.Workload.Offset)
	}
	return append(same, others[:c.Probes]...), nil
}

// crowdText fills the image's text for many probes with instructions, as a loader fills that of a module, and
// returns the places in it.
func (s *session) crowdText() ([]workloads.Site, error) {
	im := s.m.Image()
	pattern, ok := im.Symbol(workloads.CrowdPattern)
	if !ok {
		return nil, fmt.Errorf("image %s has no text for a crowd of probes: use a kernel without preemption", im.Name)
	}
	sites := workloads.Crowd(pattern.Size)
	if room := s.crowdRoom() / pattern.Size; room < uint64(len(sites)) {
		return nil, fmt.Errorf("image %s has room for %d probes of a crowd, not for %d: build it from the sources of "+
			"this version", im.Name, room, len(sites))
	}
	return sites, s.fillCrowd(pattern.Addr)
}

// crowdRoom is the number of bytes of the text for a crowd, 0 where there is none.
func (s *session) crowdRoom() uint64 {
	from, ok := s.m.Image().Symbol(workloads.CrowdStart)
	to, ok2 := s.m.Image().Symbol(workloads.CrowdEnd)
	if !ok || !ok2 {
		return 0
	}
	return to.Addr - from.Addr
}

// fillCrowd fills the text for a crowd with the instruction at an address, which is as long as the pattern.
func (s *session) fillCrowd(instruction uint64) error {
	from, _ := s.m.Image().Symbol(workloads.CrowdStart)
	pattern, _ := s.m.Image().Symbol(workloads.CrowdPattern)
	code, err := s.m.ReadBytes(instruction, int(pattern.Size))
	if err != nil {
		return err
	}
	return s.m.WriteBytes(from.Addr, bytes.Repeat(code, int(s.crowdRoom()/pattern.Size)))
}
