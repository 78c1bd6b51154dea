// Package calibration fits the parameters of a machine description that are marked fitted on the published
// figures that the description names.
package calibration
