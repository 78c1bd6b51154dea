// Package planning turns the name of an experiment file into a plan. The data flow is Loader.Plan: the document with its
// bases, settings, each combination of the sweep, the keys of its kind (kinds.go), the machine description, the guest image
// or the packaged kernel, and the points. Every mistake is reported at once, with its place.
package planning
