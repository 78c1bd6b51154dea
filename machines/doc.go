// Package machines reads machine descriptions: what one CPU of a machine costs, and where every number
// comes from. It holds a description against the classes and events of its instruction set, wants a source
// for every number, and never more fitted numbers than figures that they were fitted on. The descriptions
// themselves are in experiments/machines; package experiments explains their tables.
package machines
