package planning

import (
	"kprobesim/internal/doc"
	"kprobesim/machines"
)

// describing is the number of made-up documents by which a schema is learned: enough for the keys of the rarest kind of point.
const describing = 2000

// ExperimentSchema describes experiment files.
func (l *Loader) ExperimentSchema() *doc.Schema {
	return doc.Describe(describing, func(root *doc.Node, errs *doc.Errors) {
		readExperiment(root, errs)
		readCollection(root, errs)
	})
}

// MachineSchema describes machine descriptions.
func (l *Loader) MachineSchema() *doc.Schema {
	return doc.Describe(describing/10, func(root *doc.Node, errs *doc.Errors) { machines.Read(root, l.isas(), errs) })
}
