// Package webpage writes results directories as one HTML page that needs no network and no other file: tables, figures,
// where each number comes from, and what differs between runs of one experiment.
package webpage
