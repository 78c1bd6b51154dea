// Package reports makes what people read of outcomes: records, tables, figures, and the results directory
// with its manifest. It draws the figures of a results directory again from its records alone.
package reports
