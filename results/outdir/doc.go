// Package outdir writes a results directory, which holds the old results or the new ones and never half of either: WriteDir
// takes the lock, writes the files to a folder beside the directory, and renames it. A manifest says what the results were
// made from, and SHA256SUMS which files are a run's own. Files that others put there stay.
package outdir
