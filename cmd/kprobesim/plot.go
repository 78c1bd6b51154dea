package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kprobesim/experiments/reports"
	"kprobesim/results/figures"
)

func (a *app) plotCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "plot DIR...",
		Short: "Draw the figures of results directories again",
		Long: `Draw the figures of results directories again, as SVG, PNG, PDF and TeX (a pgfpicture for \input). The
width is that on paper: text keeps its 7 to 9 points, and panels stand beside each other where there is
room for them. A figure that a width or height has no room for is an error that says what it needs.`,
		Args: atLeastOne("a results directory, such as out/NAME"),
	}
	figures := c.Flags().StringSlice("figures", nil,
		"figures to draw (default: those the directory has): "+strings.Join(reports.FigureNames(), ", "))
	width := c.Flags().String("width", "", "width on paper, such as 3.3in or 84mm (default: each figure's own); text has 7 to 9 points at any width")
	height := c.Flags().String("height", "", "height on paper (default: what the figure needs)")
	bare := c.Flags().Bool("bare", false, "leave title and caption out of the picture and write them to NAME.txt")
	c.RunE = func(_ *cobra.Command, args []string) error {
		look := reports.Look{Bare: *bare}
		var errs []error
		if err := errors.Join(length(*width, &look.Width), length(*height, &look.Height)); err != nil {
			return fail(exitUsage, err)
		}
		for _, dir := range args {
			err := reports.Redraw(dir, *figures, look)
			if err == nil {
				fmt.Fprintf(a.out, "figures are in %s\n", dir)
			}
			errs = append(errs, err)
		}
		return fail(exitUsage, errors.Join(errs...))
	}
	return c
}

// length reads a side of a figure in millimetres; an empty text leaves it as it is.
func length(text string, side *float64) (err error) {
	if text != "" {
		*side, err = figures.ParseLength(text)
	}
	return err
}
