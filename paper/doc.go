// Package paper turns results into a paper on what probes cost. Its text is the template paper.tex, in which every
// number, table and figure is asked of the results, and every sentence that claims something carries the
// comparison that makes it true. A result that changes changes the text. A sentence that a result makes untrue
// fails the build, with its line and both numbers.
//
// The template is one of text/template with << and >> around actions, because LaTeX needs braces itself. A function
// that finds no result is an error. The functions are listed in Paper.functions.
//
// The package leaves typesetting to LaTeX, and simulation to the program that made the results.
package paper
