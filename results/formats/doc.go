// Package formats writes records as files and reads them back: CSV in long form (results.csv and every baseline), JSON
// (results.json), Go's benchmark format (bench.txt), and the inputs of a run (inputs.txt). Reading is strict: CSV writes back
// byte for byte what ReadCSV took.
package formats
