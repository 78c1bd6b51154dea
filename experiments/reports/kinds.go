package reports

import (
	"slices"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
	"kprobesim/results"
	"kprobesim/results/figures"
	"kprobesim/results/tables"
)

// shown is how the results of a kind are shown.
type shown struct {
	kind    string
	columns []tables.ColumnSpec // of its table, behind the columns of the sweep
	notes   []string            // below the table: what words mean
	figures []drawn
}

// drawn is a figure by its name. Its name is unique among all kinds, because figures are asked for by name alone.
type drawn struct {
	name string
	draw func(s *results.Set) (figures.Figure, error)
}

// shownKinds has every kind, the default first.
func shownKinds() []shown {
	return []shown{
		overheadShown(), latencyShown(), bystanderShown(), scalingShown(), irqOffShown(), unregisterShown(), missedShown(),
		crowdingShown(), userProbesShown(), watchpointsShown(), linuxShown(),
	}
}

// shownAs returns how a kind is shown; false for a kind that no experiment has, such as an analysis.
func shownAs(kind string) (shown, bool) {
	all := shownKinds()
	i := slices.IndexFunc(all, func(k shown) bool { return k.kind == kind })
	return all[max(i, 0)], i >= 0
}

// allFigures lists the figures of all kinds, and that of an analysis. A collection draws figures of several kinds.
func allFigures() (all []drawn) {
	for _, k := range shownKinds() {
		all = append(all, k.figures...)
	}
	return append(all, drawn{FigureTornado, drawTornado})
}

// FigureTornado is the figure of an analysis of sensitivity. No experiment can ask for it.
const FigureTornado = "tornado"

// Figures that a collection may have.
const (
	figOverhead = "overhead"
	figPhases   = "phases"
)

// FigureNames lists the figures that a results directory can hold.
func FigureNames() (names []string) {
	for _, f := range allFigures() {
		names = append(names, f.name)
	}
	return names
}

func overheadShown() shown {
	return shown{
		kind:    schema.KindOverhead,
		figures: []drawn{{figOverhead, drawOverhead}, {figPhases, drawPhases}, {"calls", drawCalls}},
	}
}

func latencyShown() shown {
	return shown{
		kind:    schema.KindLatency,
		figures: []drawn{{"latency", drawLatency}, {"latency-parts", drawLatencyParts}},
		columns: []tables.ColumnSpec{
			{Title: "optimized\nafter us", Metric: kinds.MetricOptimized, Decimals: 0},
			{Title: "delay\nus", Metric: kinds.MetricDelay, Decimals: 0},
			{Title: "grace period\nus", Metric: kinds.MetricGrace, Decimals: 1},
			{Title: "its turn\nus", Metric: kinds.MetricTurn, Decimals: 1},
			{Title: "text change\nus", Metric: kinds.MetricPatch, Decimals: 1},
		},
	}
}

func bystanderShown() shown {
	k := shown{
		kind:    schema.KindBystander,
		figures: []drawn{{"bystander", drawBystander}},
		notes:   []string{"cycles that one bystander CPU does not spend on its own work, a probe of the batch"},
	}
	for _, op := range kinds.Operations() {
		k.columns = append(k.columns, tables.ColumnSpec{Title: op, Metric: kinds.BystanderMetric(op), Decimals: 1})
	}
	for _, a := range []kinds.Account{kinds.ForInterrupts, kinds.ForStop, kinds.ForKernel} {
		k.columns = append(k.columns, tables.ColumnSpec{
			Title: "optimize:\n" + kinds.AccountNames()[a], Metric: kinds.BystanderPart("optimize", a), Decimals: 1,
		})
	}
	return k
}

func scalingShown() shown {
	return shown{
		kind:    schema.KindScaling,
		figures: []drawn{{"scaling", drawScaling}},
		columns: []tables.ColumnSpec{
			{Title: "million hits\na second", Metric: kinds.MetricRate, Decimals: 3},
			{Title: "cycles\na hit", Metric: kinds.MetricPerHit, Decimals: 0},
			{Title: "transfers\na hit", Metric: kinds.MetricMoved, Decimals: 2},
			{Title: "upgrades\na hit", Metric: kinds.MetricTaken, Decimals: 2},
		},
		notes: []string{"cycles of one CPU, for the call and the hit; lines of the caches that move between CPUs"},
	}
}

func irqOffShown() shown {
	return shown{
		kind:    schema.KindIRQOff,
		figures: []drawn{{"irq-off", drawIRQOff}},
		columns: []tables.ColumnSpec{
			{Title: "interrupts off\nlongest us", Metric: kinds.MetricOff, Decimals: 3},
			{Title: "without\nthe probe", Metric: kinds.MetricOff + kinds.Plain, Decimals: 3},
			{Title: "timer late\nmean us", Metric: kinds.MetricLateMean, Decimals: 3},
			{Title: "99 %\nus", Metric: kinds.MetricLate99, Decimals: 3},
			{Title: "longest\nus", Metric: kinds.MetricLate, Decimals: 3},
			{Title: "without\nthe probe", Metric: kinds.MetricLate + kinds.Plain, Decimals: 3},
		},
		notes: []string{"late: behind what the timer was set to, less what the earliest of its interrupts is"},
	}
}

func unregisterShown() shown {
	return shown{
		kind:    schema.KindUnregister,
		figures: []drawn{{"unregister", drawUnregister}},
		columns: []tables.ColumnSpec{
			{Title: "one call each\nus a probe", Metric: kinds.MetricSingly, Decimals: 2},
			{Title: "one call\nus a probe", Metric: kinds.MetricTogether, Decimals: 2},
		},
	}
}

func missedShown() shown {
	return shown{
		kind:    schema.KindMissed,
		figures: []drawn{{"missed", drawMissed}, {"missed-default", drawMissedDefault}},
		columns: []tables.ColumnSpec{
			{Title: "calls", Metric: results.MetricCalls, Decimals: 0},
			{Title: "missed", Metric: kinds.MetricMissed, Decimals: 0},
			{Title: "missed\n%", Metric: kinds.MetricMissShare, Decimals: 1},
		},
		notes: []string{"maxactive 0 is the kernel's default"},
	}
}

func crowdingShown() shown {
	return shown{
		kind: schema.KindCrowding,
		figures: []drawn{
			{"crowding", drawCrowding},
			{"crowding-first", drawCrowdingFirst},
			{"crowding-arming", drawCrowdingArming},
			{"crowding-memory", drawCrowdingMemory},
		},
		columns: []tables.ColumnSpec{
			{Title: "in the\nbucket", Metric: kinds.MetricBucket, Decimals: 0},
			{Title: "cycles\nper hit", Metric: results.MetricCycles, Decimals: 1},
			{Title: "instrs\nper hit", Metric: results.MetricInstructions, Decimals: 1},
			{Title: "first hit\ncycles", Metric: results.MetricFirst, Decimals: 0},
			{Title: "register\nus a probe", Metric: kinds.MetricRegister, Decimals: 2},
			{Title: "arm\nus a probe", Metric: kinds.MetricArm, Decimals: 2},
			{Title: "optimized", Metric: kinds.MetricJumps, Decimals: 0, DropZero: true},
			{Title: "bytes\na probe", Metric: kinds.MetricBytes, Decimals: 0},
			{Title: "memory\nKiB", Metric: kinds.MetricMemory, Decimals: 1},
		},
		notes: []string{
			"probes: registered beside the one that is hit; position: of that one in its bucket",
			charged,
		},
	}
}

func userProbesShown() shown {
	return shown{
		kind:    schema.KindUserProbes,
		figures: []drawn{{"user-probes", drawUserProbes}},
		columns: []tables.ColumnSpec{
			{Title: "hit\ncycles", Metric: kinds.MetricUserWarm, Decimals: 0},
			{Title: "hit\nus", Metric: kinds.MetricUserMicros, Decimals: 3},
			{Title: "no translation\nleft: cycles", Metric: kinds.MetricUserCold, Decimals: 0},
			{Title: "all CPUs hit:\ncycles", Metric: kinds.MetricUserShared, Decimals: 0},
			{Title: "of them\nmissed", Metric: results.MissedMetric(kinds.MetricUserShared), DropZero: true},
			{Title: "own copy of\nthe page: cycles", Metric: kinds.MetricUserCopy, Decimals: 0},
		},
		notes: []string{
			"cycles a call beyond those of a call without the probe",
			"own copy: of a task that has written the page before the probe was inserted into the shared one",
		},
	}
}

func watchpointsShown() shown {
	return shown{
		kind:    schema.KindWatchpoints,
		figures: []drawn{{"watchpoints", drawWatchpoints}, {"watchpoints-registering", drawWatching}},
		columns: []tables.ColumnSpec{
			{Title: "cycles\na call more", Metric: results.MetricCycles, Decimals: 1},
			{Title: "instrs\na call more", Metric: results.MetricInstructions, Decimals: 1},
			{Title: "first hit\ncycles", Metric: results.MetricFirst, Decimals: 0},
			{Title: "register\nus", Metric: kinds.MetricWatch, Decimals: 3},
			{Title: "unregister\nus", Metric: kinds.MetricUnwatch, Decimals: 3},
		},
		notes: []string{
			"register, unregister: until every CPU has set its debug register; nobody has published figures of watchpoints",
			"a hundredth of a cycle beside a watchpoint is the branch predictor's: registering has left other branches in it",
		},
	}
}

func linuxShown() shown {
	k := shown{
		kind:    schema.KindLinux,
		figures: []drawn{{"linux-phases", drawLinux}},
		columns: []tables.ColumnSpec{
			{Title: "cycles\na call", Metric: kinds.MetricCall, Decimals: 0},
			{Title: "cycles\nper hit", Metric: results.MetricCycles, Decimals: 0},
			{Title: "us\nper hit", Metric: results.MetricMicros, Decimals: 3},
			{Title: "instrs\nper hit", Metric: results.MetricInstructions, Decimals: 0},
			{Title: "except-\nions", Metric: kinds.MetricExceptions, Decimals: 0},
		},
		notes: []string{
			"per hit: beyond what the same loop takes without a probe; interrupts of the timer are left out",
			"phases are told by the names of functions; other: what no list has, such as the probed function itself",
		},
	}
	for _, p := range kinds.LinuxPhases() {
		k.columns = append(k.columns, tables.ColumnSpec{
			Title: p.String() + "\ncycles", Metric: results.PhaseMetric(p.String()), Decimals: 0, DropZero: true,
		})
	}
	k.columns = append(k.columns,
		tables.ColumnSpec{Title: "arming\ncycles", Metric: kinds.MetricArming, Decimals: 0, DropZero: true},
		tables.ColumnSpec{Title: "others\narming", Metric: kinds.MetricOthers, Decimals: 0, DropZero: true},
	)
	return k
}
