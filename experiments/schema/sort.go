package schema

import "fmt"

// Sort names the points that take about as long as this one on the host for the same work. What parts them most stands first,
// so that sorts with a longer beginning in common are more alike.
func (p *Point) Sort() string {
	crowd := fmt.Sprintf("%d-%d-%s", p.Crowd.Probes, p.Crowd.SameBucket, p.Crowd.Position)
	return fmt.Sprintf("%s/%s/%s/%s/%s-%s/%s/%s/%s-%s", p.Kind, p.Target.Name, p.Machine.CPU.Model, crowd, p.Workload.Loop, p.Workload.Load,
		p.Kernel.Era, p.Workload.Target, p.Probe.Kind, p.Probe.Mode)
}

// Calls is how often the loop of a point calls its target, without and with the probe.
func (p *Point) Calls() int64 { return 2 * (p.Workload.Hits + p.Workload.Warmup) }

// bootCalls prices the boot and the end of a machine in calls of a target.
const bootCalls = 2000

// Work measures the size of a point: the time of the host grows with it. The host executes each CPU.
func (p *Point) Work() float64 {
	return float64((p.Calls() + bootCalls) * max(1, p.Kernel.CPUs))
}
