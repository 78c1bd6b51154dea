// Package distinct keeps lists in the order in which their elements came, each of them once.
package distinct

import "slices"

// Append appends the elements that a list does not have yet.
func Append[E comparable](list []E, elements ...E) []E {
	for _, e := range elements {
		if !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	return list
}
