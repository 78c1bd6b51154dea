package sim_test

import (
	"fmt"

	"kprobesim/cpus/cpustest"
	"kprobesim/sim"
	"kprobesim/targets"
)

// A machine boots a guest kernel and calls one of its functions, instruction by instruction. Simulated time goes on by what
// they take on the described processor, and by nothing else.
func Example() {
	const name = "x86_64-2010"
	im, err := targets.LoadImage(name)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, target, _ := targets.Image(targets.List(), name)
	cfg := targets.Config{Machine: sim.Config{CPU: cpustest.Config(target.ISA), Image: im}}
	cfg.Kernel.HZ = 100
	sys, err := target.Build(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = sys.Run(func(c *sim.Call) error {
		begin := c.Now()
		mixed, err := c.InvokeSym("bench_target", 40, 2)
		fmt.Println(mixed, c.Now() > begin)
		return err
	})
	fmt.Println(err)
	// Output:
	// 66 true
	// <nil>
}
