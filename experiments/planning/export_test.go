package planning

import (
	"kprobesim/experiments/schema"
	"kprobesim/internal/doc"
)

// Forget drops the files that were read, so that the next plan reads them again.
func (l *Loader) Forget() { clear(l.wholes) }

// ReadExperiment reads an experiment that stands in no file.
func ReadExperiment(root *doc.Node, errs *doc.Errors) *schema.Experiment {
	return readExperiment(root, errs)
}
