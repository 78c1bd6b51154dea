package kprobes_test

import (
	"errors"
	"fmt"

	"kprobesim/cpus/cpustest"
	"kprobesim/kprobes"
	"kprobesim/sim"
	"kprobesim/smp"
	"kprobesim/targets"
)

// boot runs body on the first task of a guest kernel.
func boot(name string, body func(*targets.System, *sim.Call) error) error {
	im, err := targets.LoadImage(name)
	if err != nil {
		return err
	}
	_, target, _ := targets.Image(targets.List(), name)
	sys, err := target.Build(targets.Config{
		Machine: sim.Config{CPU: cpustest.Config(target.ISA), Image: im},
		Kernel:  smp.Options{HZ: 100}, Probes: kprobes.Default(),
	})
	if err != nil {
		return err
	}
	return sys.Run(func(c *sim.Call) error { return body(sys, c) })
}

// A probe at a guest function is a struct kprobe in guest memory. A tally counts its hits from outside, by what the CPU
// executes.
func Example() {
	err := boot("x86_64-2010", func(sys *targets.System, c *sim.Call) error {
		p, err := sys.Probes.Add(c, kprobes.Spec{Symbol: "bench_target", Handler: "handler_count"})
		if err != nil {
			return err
		}
		tally, err := sys.Probes.NewTally(p.Addr)
		if err != nil {
			return err
		}
		sys.Machine.CPU(0).ObserveCode(tally, tally.Spans(), false)
		for range 3 {
			if _, err := c.InvokeSym("bench_target", 40, 2); err != nil {
				return err
			}
		}
		fmt.Println("hits:", tally.Of(0).All)
		return sys.Probes.Remove(c, p)
	})
	fmt.Println(err)
	// Output:
	// hits: 3
	// <nil>
}

// Registering asks the rules of the kernel's year. The text of the error names the rule and the instruction.
func ExampleKprobes_Add() {
	err := boot("x86_64-2010", func(sys *targets.System, c *sim.Call) error {
		_, err := sys.Probes.Add(c, kprobes.Spec{Symbol: "bench_target", Offset: 1, Handler: "handler_count"})
		return err
	})
	fmt.Println(errors.Is(err, kprobes.EILSEQ))
	// Output:
	// true
}
