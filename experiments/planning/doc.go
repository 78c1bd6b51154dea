// Package planning turns the name of an experiment file into a plan: it finds the file and those that it
// builds on, applies the options of --set, expands sweeps and collections, reads the machine description
// and the guest image, and holds all of them against each other. Every mistake is reported at once, with
// its place.
package planning
