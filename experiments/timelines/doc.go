// Package timelines draws what every CPU did while a point was measured, for the viewer Perfetto: tasks,
// interrupts, probe hits, and the steps of every change of text. It observes and changes nothing.
package timelines
