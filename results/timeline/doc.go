// Package timeline holds slices, instants and flows on tracks, and encodes them for the viewer Perfetto.
package timeline
