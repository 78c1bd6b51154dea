// Package resultstest has the sets of records that tests of several packages of results share.
package resultstest
