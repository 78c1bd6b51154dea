// Package tables makes the tables that people read of records: a column for each metric that a kind of experiment names, a
// row for each point. The data flow is Tabulate (records to cells), then Text, Fit, LaTeX, Markdown or CSV (cells to bytes).
//
// It knows no kind of experiment; package reports chooses the columns.
package tables
