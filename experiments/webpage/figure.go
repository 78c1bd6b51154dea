package webpage

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"kprobesim/experiments/reports"
)

// figure is a picture of the page. Address holds the whole picture; a browser runs no script of a picture and loads
// nothing for it, so its origin does not matter.
type figure struct {
	Name, Alt, Caption string
	Address            template.URL
}

// figures makes the pictures of a directory part of the page.
func figures(k *reports.Kept) (out []figure, err error) {
	pictures, err := k.Pictures()
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(pictures)) {
		title, description, err := described(pictures[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(k.Dir, name+".svg"), err)
		}
		f := figure{
			Name: name, Alt: strings.TrimSpace(title + ". " + description),
			Address: template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(pictures[name])), //nolint:gosec // base64 is no markup
		}
		if title == "" {
			f.Alt = "The figure " + name + " of " + k.Dir
		}
		// A picture has its caption in it, or plot --bare has put it into a file.
		f.Caption, _, _ = strings.Cut(string(k.Files[name+".txt"]), "\n")
		out = append(out, f)
	}
	return out, nil
}

// described returns title and description of an SVG, and refuses what is no SVG.
func described(svg []byte) (title, description string, err error) {
	d := xml.NewDecoder(bytes.NewReader(svg))
	var path []string
	for root := ""; ; {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF) && root == "svg":
			return title, description, nil
		case errors.Is(err, io.EOF):
			return "", "", errors.New("is no SVG")
		case err != nil:
			return "", "", fmt.Errorf("is no whole SVG: %w", err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			path = append(path, x.Name.Local)
			root = path[0]
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData:
			switch strings.Join(path, "/") {
			case "svg/title":
				title += string(x)
			case "svg/desc":
				description += string(x)
			}
		}
	}
}
