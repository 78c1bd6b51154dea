package reports

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/defect"
	"kprobesim/results"
	"kprobesim/results/figures"
	"kprobesim/results/formats"
	"kprobesim/results/outdir"
)

// Files of a results directory.
const (
	ResultsName = "results.csv"
	JSONName    = "results.json"
	benchName   = "bench.txt"
	ProfileName = "profile.pb.gz"
	InputsName  = "inputs.txt"
	ConsoleName = "console.txt"
)

// FormatParquet is the name of a further form of the records, which a run is asked for.
const FormatParquet = "parquet"

// Report is the outcome of an experiment: the records of the points that ended well, and how every point
// ended.
type Report struct {
	Plan     *schema.Plan
	Set      *results.Set // every observation
	Means    *results.Set // of the replicates of each point, for tables and figures; Set itself if there are none
	Outcomes []running.Outcome
	Parquet  bool // the records are written as Apache Parquet, too
}

// Err returns the error of every failed point, each named, or nil. Points that were not begun are one error, which
// counts them.
func (r *Report) Err() error {
	var errs []error
	interrupted := 0
	for _, o := range r.Outcomes {
		var internal *defect.Error
		switch {
		case o.Err == nil:
		case o.Err == running.ErrInterrupted: // one that was begun says where it was
			interrupted++
		case errors.As(o.Err, &internal):
			errs = append(errs, o.Err) // names its point itself
		default:
			errs = append(errs, fmt.Errorf("point %s: %w", o.Point.Name, o.Err))
		}
	}
	if interrupted > 0 {
		errs = append(errs, fmt.Errorf("%d of %d points: %w", interrupted, len(r.Outcomes), running.ErrInterrupted))
	}
	return errors.Join(errs...)
}

func prefix(p string, lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = p + l
	}
	return out
}

// Write replaces the results directory.
func (r *Report) Write(dir string) error {
	files, streams, err := r.files()
	if err == nil {
		err = outdir.WriteStreams(dir, files, streams)
	}
	return err
}

// files returns the files of the results directory. Those that grow with the number of points are streams.
func (r *Report) files() (map[string][]byte, map[string]outdir.Stream, error) {
	manifest, err := r.manifest().JSON()
	if err != nil {
		return nil, nil, err
	}
	files := map[string][]byte{outdir.ManifestName: manifest, InputsName: r.Plan.Keys.Text()}
	profile, err := mergeProfiles(r.Outcomes)
	if err != nil {
		return nil, nil, err
	}
	if profile != nil {
		files[ProfileName] = profile
	}
	if text := console(r.Outcomes); text != "" {
		files[ConsoleName] = []byte(text)
	}
	accounts, err := accountsCSV(r.Outcomes)
	if err != nil {
		return nil, nil, err
	}
	if accounts != nil {
		files[AccountsName] = accounts
	}
	figures, _ := r.drawable()
	return files, r.forms(), Draw(files, r.Means, figures, Look{})
}

// forms are the records as the long form, as JSON for programs, and in Go's benchmark format for benchstat.
func (r *Report) forms() map[string]outdir.Stream {
	bench := formats.OverheadBench()
	if r.Plan.Kind != schema.KindOverhead {
		bench = formats.KindBench(r.Plan.Kind, r.Set)
	}
	forms := map[string]outdir.Stream{
		ResultsName: func(w io.Writer) error { return formats.WriteCSV(w, r.Set) },
		JSONName: func(w io.Writer) error {
			return formats.WriteJSON(w, r.Set, formats.About{Name: r.Plan.Name, Title: r.Plan.Title, Kind: r.Plan.Kind})
		},
		benchName: func(w io.Writer) error { return formats.WriteBench(w, r.Set, bench) },
	}
	if r.Parquet {
		forms["results.parquet"] = func(w io.Writer) error { return formats.WriteParquet(w, r.Set) }
	}
	return forms
}

// HasConsole reports whether a guest has printed anything.
func (r *Report) HasConsole() bool { return console(r.Outcomes) != "" }

// console joins what the guests of the points have printed, each below the name of its point.
func console(outcomes []running.Outcome) string {
	var b strings.Builder
	for _, o := range outcomes {
		if o.Err == nil && o.Measurement.Console != "" {
			fmt.Fprintf(&b, "# point %s\n%s", o.Point.Name, o.Measurement.Console)
		}
	}
	return b.String()
}

// drawable parts the figures of the plan into those that can be drawn and those whose sweep a setting has
// taken away or has made more of than a figure can show.
func (r *Report) drawable() (can, not []string) {
	for _, name := range r.Plan.Figures {
		if len(r.Means.Points()) > 0 {
			if _, err := figure(name, r.Means); errors.Is(err, figures.ErrNotSwept) || errors.Is(err, figures.ErrTooMuch) {
				not = append(not, fmt.Sprintf("figure %s is not drawn: %v", name, err))
				continue
			}
		}
		can = append(can, name)
	}
	return can, not
}

func (r *Report) manifest() *outdir.Manifest {
	return &outdir.Manifest{
		Program: outdir.This(), Inputs: r.Plan.Inputs, Overrides: r.Plan.Overrides, Seed: r.Plan.Seed,
		Points: running.Statuses(r.Outcomes), Sources: r.Set.Sources(),
	}
}

// Draw adds the files of the named figures of a set. A set without any point draws nothing.
func Draw(files map[string][]byte, s *results.Set, names []string, look Look) error {
	if len(s.Points()) == 0 {
		return nil
	}
	for _, name := range names {
		f, err := figure(name, s)
		if err != nil {
			return fmt.Errorf("figure %s: %w", name, err)
		}
		figures.Resize(f, look.Width, look.Height, look.Bare)
		if look.Bare {
			files[name+".txt"] = []byte(figures.Caption(f) + "\n\n" + figures.Alt(f) + "\n")
		}
		drawn, err := figures.Render(f, name)
		if err != nil {
			return fmt.Errorf("figure %s: %w", name, err)
		}
		for file, b := range drawn {
			files[file] = b
		}
	}
	return nil
}

// figure makes one figure; what it says follows from the records and their sources alone, so that a
// results directory is enough to draw it again.
func figure(name string, s *results.Set) (figures.Figure, error) {
	for _, f := range allFigures() {
		if f.name == name {
			s = f.shown(s)
			drawn, err := f.draw(s)
			if err == nil {
				if name != "figure" {
					figures.ShowTitle(drawn, s.Wish.Title, places(s))
				}
				figures.ShowOverrides(drawn, s)
				figures.ShowReplicates(drawn, s)
				figures.ShowMissed(drawn, s)
			}
			return drawn, err
		}
	}
	return nil, fmt.Errorf("unknown; known are %s", strings.Join(FigureNames(), ", "))
}
