// Package schema has the types that an experiment file becomes, and reads its tables: kernel, workload,
// probes. A Plan is an experiment that was read and checked, a Point one measurement of it. Tables whose
// keys differ from kind to kind are read, and files are found, in package planning.
package schema
