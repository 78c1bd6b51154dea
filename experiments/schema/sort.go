package schema

import "fmt"

// Sort names the points that take about as long as this one on the host, per call and CPU: points of one kind, cost
// model, kernel, probe and crowd.
func (p *Point) Sort() string {
	return fmt.Sprint(p.Kind, p.Machine.Name, p.Machine.CPU.Model, p.Image.Hash, p.Kernel.HZ, p.Workload.Load, p.Probe.Mode, p.Probe.Kind, p.Crowd)
}

// Calls is how often the loop of a point calls its target, without and with the probe.
func (p *Point) Calls() int64 { return 2 * (p.Workload.Hits + p.Workload.Warmup) }
