// Package running runs the points of a plan, several at a time. The outcomes do not depend on how many.
package running
