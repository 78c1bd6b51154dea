package results_test

import (
	"fmt"

	"kprobesim/results"
)

// A record is one observation at a point. Values are exact decimals, so the same observation is the same bytes everywhere.
func Example() {
	point := results.Point{Experiment: "overhead", Machine: "mine", ISA: "x86_64", Era: "2010", CPUs: 1, Probe: "o"}
	simulated, err := results.ParseValue("0.035")
	if err != nil {
		fmt.Println(err)
		return
	}
	var set results.Set
	if err := set.Add(results.Record{Point: point, Metric: results.MetricMicros, Unit: "us", Value: simulated, Role: results.Predicted}); err != nil {
		fmt.Println(err)
		return
	}
	published, _ := results.ParseValue("0.06")
	record, _ := set.Get(point, results.MetricMicros)
	miss, err := results.ErrorPercent(record.Value, published)
	fmt.Println(record.Role, miss.Round(1), err)
	// Output:
	// predicted -41.7 <nil>
}
