package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kprobesim/experiments/keeping"
	"kprobesim/internal/slurm"
	"kprobesim/results/outdir"
)

// submission is a command whose shards run on a cluster.
type submission struct {
	app     *app
	array   slurm.Array
	shards  int
	retries int
	all     time.Duration // that all shards are predicted to take of a core; 0 is not known
	state   submitted
	lost    map[int]bool // shards that the queue did not have when it was last asked, nor an end of them
	last    string       // line that was printed
	begun   time.Time
	first   int // shards that were done then
}

// submitted holds what another process has to know to go on.
type submitted struct {
	Jobs  map[int]string // by shard, the last one
	Tries map[int]int
}

// submitOptions holds the options of `submit`.
type submitOptions struct {
	slurm, dry                       bool
	shards, cpus, retries            int
	out, partition, account, time, m string
	more                             []string
}

func (a *app) submitCmd() *cobra.Command {
	var o submitOptions
	c := &cobra.Command{
		Use:   "submit --slurm [OPTION...] [COMMAND] FILE...",
		Short: "Run a command in shards on a cluster with Slurm, and merge what they make",
		Long: `Run the shards of a command as an array of jobs: run (which need not be named), check, races, sensitivity or
explain --verify, with its options behind its name. The program is taken by its path, which all nodes must see, and each task compares its
hash. So is --out, where shards keep what they finish.

The command follows the jobs and prints a line whenever their states change. Shards that a node, a time limit or a preemption
ended are submitted again, up to --retries times, with the reason. In the end it merges, and exits as the command
would. It may be killed: the same command finds its jobs again and goes on. --dry-run prints script and plan.`,
		Args: atLeastOne("an experiment file"),
	}
	f := c.Flags()
	f.SetInterspersed(false) // options behind the command belong to it
	f.BoolVar(&o.slurm, "slurm", false, "use Slurm (required)")
	f.BoolVar(&o.dry, "dry-run", false, "print the script and the plan, and submit nothing")
	f.IntVar(&o.shards, "shards", 0, "number of tasks (0: by plan, about ten minutes each)")
	f.IntVar(&o.cpus, "cpus", 1, "cores of a task")
	f.IntVar(&o.retries, "retries", 3, "how often a shard is submitted again")
	f.StringVarP(&o.out, "out", "o", "out", "directory for the results, on a file system that all nodes share")
	f.StringVar(&o.partition, "partition", "", "partition of the jobs")
	f.StringVar(&o.account, "account", "", "account of the jobs")
	f.StringVar(&o.time, "time", "", "time limit of a task, as sbatch takes it")
	f.StringVar(&o.m, "mem", "", "memory of a task, as sbatch takes it (default: as predicted)")
	f.StringArrayVar(&o.more, "sbatch", nil, "another option of sbatch, as --sbatch=--qos=low (may be repeated)")
	c.RunE = func(_ *cobra.Command, args []string) error {
		if !o.slurm || o.shards < 0 || o.cpus < 1 || o.retries < 0 {
			return fail(exitUsage, errors.New("submit: give --slurm, and no negative numbers"))
		}
		return a.submit(&o, args)
	}
	return c
}

// submit prepares the array, runs it, and merges.
func (a *app) submit(o *submitOptions, args []string) error {
	s := &submission{app: a, retries: o.retries, lost: map[int]bool{}, state: submitted{map[int]string{}, map[int]int{}}}
	if err := s.prepare(o, args); err != nil {
		return fail(exitUsage, fmt.Errorf("submit: %w", err))
	}
	if o.dry {
		fmt.Fprintf(a.out, "%s", s.array.Script())
		return nil
	}
	if err := s.run(); err != nil {
		return fail(exitFailed, fmt.Errorf("%w; what is finished is kept in %s, and the same command goes on", err, o.out))
	}
	return a.merge([]string{o.out}, o.out)
}

// prepare checks the command, chooses the number of shards, and writes the script.
func (s *submission) prepare(o *submitOptions, args []string) error {
	if !slices.Contains([]string{"run", "check", "races", "sensitivity", "explain"}, args[0]) {
		args = append([]string{"run"}, args...)
	}
	sub, rest, err := s.app.root().Find(args)
	if err == nil {
		err = sub.ParseFlags(rest)
	}
	for _, name := range []string{"out", "shard", "workers"} {
		if err == nil && sub.Flags().Changed(name) {
			err = fmt.Errorf("--%s is for submit to choose: leave it out behind %s", name, args[0])
		}
	}
	if err != nil {
		return err
	}
	memory, err := s.forecast(o, sub)
	if err != nil {
		return err
	}
	program, err := s.app.program()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	cwd, cwdErr := os.Getwd()
	out, outErr := filepath.Abs(o.out)
	if err = errors.Join(err, cwdErr, outErr); err != nil {
		return err
	}
	_, id, _ := strings.Cut(outdir.Hash(fmt.Appendf(nil, "%s %q %d", program, args, s.shards)), ":")
	id = id[:12]
	s.array = slurm.Array{
		Name: "kprobesim-" + id, Dir: filepath.Join(out, keeping.Folder, "submit-"+id), Chdir: cwd, Sum: program,
		Command: append(append([]string{self}, args...), "--out="+out, fmt.Sprintf("--workers=%d", o.cpus),
			fmt.Sprintf("--shard=%s/%d", slurm.TaskVar, s.shards)),
		Options: o.sbatch(memory),
	}
	return s.write(o.dry)
}

// sbatch lists the options of the jobs.
func (o *submitOptions) sbatch(memory string) []string {
	list := []string{fmt.Sprintf("--cpus-per-task=%d", o.cpus)}
	for _, x := range [][2]string{{"partition", o.partition}, {"account", o.account}, {"time", o.time}, {"mem", memory}} {
		if x[1] != "" {
			list = append(list, "--"+x[0]+"="+x[1])
		}
	}
	return append(list, o.more...)
}

// forecast prints the plan of a run, and takes shards and memory from it where they are not given.
func (s *submission) forecast(o *submitOptions, sub *cobra.Command) (memory string, err error) {
	s.shards = o.shards
	if sub.Name() != "run" && sub.Name() != "check" {
		if s.shards == 0 {
			return "", fmt.Errorf("--shards: say in how many parts %s is to run", sub.Name())
		}
		return o.m, nil
	}
	sets, err := sub.Flags().GetStringArray("set")
	if err != nil {
		return "", err
	}
	plans, err := s.app.plans(sub.Flags().Args(), sets)
	if err != nil {
		return "", err
	}
	costs, err := s.app.costs(o.out)
	if err != nil {
		return "", err
	}
	shards, most := 0, 0.0
	for _, p := range plans {
		f := costs.Forecast(p.Points)
		s.app.printForecast(p, nil, costs, o.cpus)
		s.all, shards, most = s.all+f.Processor, shards+f.Shards(), max(most, f.Memory(o.cpus))
	}
	if s.shards == 0 {
		s.shards = shards
	}
	if o.m == "" {
		return fmt.Sprintf("%.0fM", 1.5*most/(1<<20)), nil
	}
	return o.m, nil
}

// write makes the folder of the submission, and reads the state that an earlier process left there.
func (s *submission) write(dry bool) error {
	if dry {
		return nil
	}
	if err := os.MkdirAll(s.array.Dir, 0o755); err != nil {
		return err
	}
	if b, err := os.ReadFile(filepath.Join(s.array.Dir, "state.json")); err == nil {
		if err := json.Unmarshal(b, &s.state); err != nil {
			return fmt.Errorf("%s: %w: remove it", s.array.Dir, err)
		}
	}
	return outdir.WriteFile(filepath.Join(s.array.Dir, "job.sh"), s.array.Script())
}

// mostSilent bounds how often in a row the queue may give no answer.
const mostSilent = 30

// run submits what is to do, until every shard has ended well.
func (s *submission) run() error {
	s.begun, s.first = time.Now(), -1
	for silent := 0; ; time.Sleep(min(30*time.Second, max(time.Second, time.Since(s.begun)/50))) {
		queue, err := s.array.Queue()
		exits, exitErr := s.array.Exits()
		if exitErr != nil {
			return exitErr
		}
		if err != nil {
			if silent++; silent > mostSilent {
				return err
			}
			continue
		}
		silent = 0
		undone, err := s.undone(queue, exits)
		if err == nil && len(undone) > 0 {
			err = s.again(undone)
		}
		if err != nil {
			return err
		}
		if s.tell(queue, exits) == s.shards {
			return nil
		}
	}
}

// undone lists the shards to submit: those that were never, and those that ended badly. One that is in neither list may be
// about to write its exit code, so it is lost when it is in neither twice.
func (s *submission) undone(queue map[int]string, exits map[int]int) (list []int, err error) {
	lost := map[int]bool{}
	for n := 1; n <= s.shards; n++ {
		code, ended := exits[n]
		switch {
		case queue[n] != "" || ended && code == exitOK:
			continue
		case s.state.Tries[n] == 0:
		case ended && (code == exitUsage || code == exitInternal || code == slurm.OtherProgram):
			why := ""
			if code == slurm.OtherProgram {
				why = " (another program stands there)"
			}
			return nil, errors.Join(fmt.Errorf("shard %d ended with exit code %d%s: see %s", n, code, why, s.array.Log(n)), s.array.Cancel())
		case !ended && !s.lost[n]:
			lost[n] = true
			continue
		default:
			why := fmt.Sprintf("exit code %d", code)
			if !ended {
				why = slurm.Why(s.state.Jobs[n], n)
			}
			if s.state.Tries[n] > s.retries {
				return nil, errors.Join(fmt.Errorf("shard %d ended %d times (%s): see %s", n, s.state.Tries[n], why, s.array.Log(n)), s.array.Cancel())
			}
			fmt.Fprintf(s.app.err, "shard %d of %d is submitted again: %s\n", n, s.shards, why)
		}
		list = append(list, n)
	}
	s.lost = lost
	return list, nil
}

// again submits shards and notes that.
func (s *submission) again(shards []int) error {
	id, err := s.array.Submit(shards)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.app.err, "job %s has %s\n", id, counted(len(shards), "shard"))
	for _, n := range shards {
		s.state.Jobs[n] = id
		s.state.Tries[n]++
	}
	b, err := json.Marshal(s.state)
	if err == nil {
		err = outdir.WriteFile(filepath.Join(s.array.Dir, "state.json"), b)
	}
	return err
}

// tell prints the states when they have changed, and returns how many shards are done.
func (s *submission) tell(queue map[int]string, exits map[int]int) (done int) {
	for n := range s.shards {
		if code, ended := exits[n+1]; ended && code == exitOK {
			done++
		}
	}
	if s.first < 0 {
		s.first = done
	}
	states := map[string]int{}
	for _, state := range queue {
		states[state]++
	}
	text := fmt.Sprintf("%d of %d shards done", done, s.shards)
	for _, state := range slices.Sorted(maps.Keys(states)) {
		text += fmt.Sprintf(", %d %s", states[state], state)
	}
	if text != s.last {
		s.last = text
		fmt.Fprintf(s.app.err, "%s%s\n", text, s.left(done, states["running"]))
	}
	return done
}

// left says the time to go: by the shards that ended, and before one has by the prediction.
func (s *submission) left(done, running int) string {
	left := s.all * time.Duration(s.shards-done) / time.Duration(s.shards) / time.Duration(max(1, running))
	if n := done - s.first; n > 0 {
		left = time.Since(s.begun) * time.Duration(s.shards-done) / time.Duration(n)
	}
	if left < time.Second || done == s.shards {
		return ""
	}
	return fmt.Sprintf(", about %s left", roundTime(left))
}
