// Package history follows figures of merit over revisions of a program. The data flow: Gather takes each figure out of the
// results of all revisions, Series.Steps finds where its level changes, and Tables and Figures show both.
//
// It knows neither git nor directories; who calls it says which revision is older.
package history
