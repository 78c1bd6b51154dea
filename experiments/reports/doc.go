// Package reports makes what people read of outcomes. The data flow is New (records of every point, and their means), then
// Tables (columns by kind, from kinds.go), and Files (records in several formats, profile, accounts, figures, manifest).
// Load and Redraw start from a results directory alone.
package reports
