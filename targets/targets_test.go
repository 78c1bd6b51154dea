package targets

import (
	"errors"
	"slices"
	"testing"

	"kprobesim/cpus/cpustest"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
	"kprobesim/sim"
	"kprobesim/smp"
	"kprobesim/workloads"
)

// Every row is found by its name and by its images, which no other row has; every image of the program
// belongs to a row.
func TestList(t *testing.T) {
	list := List()
	var images int
	for i := range list {
		row := &list[i]
		require.That(t, row.Name == row.ISA.Name && row.Board != nil && row.Probes != nil && Find(list, row.Name) == row, "row %+v", row)
		for _, im := range row.Images {
			got, of, ok := Image(list, im.Name)
			require.That(t, ok && of == row && got == im, "image %s of %s is found as %+v", im.Name, row.Name, got)
			images++
		}
	}
	require.That(t, images == len(workloads.List()), "the targets have %d images, the program %d", images, len(workloads.List()))
	require.That(t, Find(list, "z80") == nil, "there is a target z80")
	_, _, ok := Image(list, "z80-2010")
	require.That(t, !ok, "there is an image z80-2010")
	names := Names(list)
	require.That(t, slices.IsSorted(names) && len(names) == len(list), "names are %v", names)
}

// config is a machine with any image and a kernel that ticks.
func config(t *testing.T, target *Target, image string) Config {
	t.Helper()
	b := require.Must(workloads.Open(image))(t)
	return Config{
		Machine: sim.Config{
			CPU: cpustest.Config(target.ISA), CPUs: 2, Image: load(t, image, b), Budget: clock.FromCycles(1e9),
		},
		Kernel: smp.Options{HZ: 1000, Tick: true},
		Probes: kprobes.Default(),
	}
}

// Every image boots with the services of its kernel, and the error of what ran is told.
func TestRun(t *testing.T) {
	for _, target := range List() {
		for _, im := range target.Images {
			c := config(t, &target, im.Name)
			c.Kernel.Preempt = im.Preempt
			if im.ISA == "i386" && im.Era < "2010" { // for one processor
				c.Machine.CPUs = 1
			}
			sys := require.Must(target.Build(c))(t)
			failed := errors.New("the body fails")
			ran := sys.Run(func(call *sim.Call) error {
				if err := sys.Kernel.Online(call); err != nil {
					return err
				}
				return failed
			})
			require.That(t, errors.Is(ran, failed) && sys.Machine.CPUs() == c.Machine.CPUs, "%s, %d CPUs: %v", im.Name, sys.Machine.CPUs(), ran)
		}
	}
}

// An image for another instruction set is refused.
func TestBuildRefuses(t *testing.T) {
	list := List()
	for i := range list {
		other := &list[(i+1)%len(list)]
		_, err := list[i].Build(config(t, &list[i], other.Images[0].Name))
		require.Error(t, err, other.Images[0].Name, "a %s with the image %s", list[i].Name, other.Images[0].Name)
	}
}
