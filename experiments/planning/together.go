package planning

import (
	"slices"
	"strings"

	"kprobesim/internal/doc"
	"kprobesim/targets"
	"kprobesim/workloads"
)

// together completes settings of the kernel. A guest image is of one year, so kernel.image alone means the
// year too, and kernel.era alone means the image of that year with the same options. The settings in front of number from
// have said both. They are settings of root.
func (p *planner) together(root *doc.Node, settings []doc.Setting, from int) []doc.Setting {
	image, era := last(settings[from:], "kernel.image"), last(settings[from:], "kernel.era")
	switch {
	case image >= 0 && era < 0:
		v := settings[from+image].Value
		if im, _, ok := targets.Image(p.l.Targets, v.Text); ok {
			return append(slices.Clone(settings), kernelSetting("era", im.Era, v.Pos))
		}
	case image < 0 && era >= 0:
		return p.imageOf(root, settings, from+era)
	}
	return settings
}

// imageOf adds the image of the year that is setting number era to settings that name no image behind it. As --set takes
// it, a year needs no quotes.
func (p *planner) imageOf(root *doc.Node, settings []doc.Setting, era int) []doc.Setting {
	settings = slices.Clone(settings)
	year := settings[era].Value
	settings[era] = kernelSetting("era", year.Text, year.Pos)
	t := targets.Find(p.l.Targets, valueOf(root, settings, "isa"))
	was, _, ok := targets.Image(p.l.Targets, valueOf(root, settings, "image"))
	if t == nil || !ok {
		return settings // a mistake that is reported later, or an image of somebody's own
	}
	var years []string
	for _, im := range t.Images {
		if im.Options != was.Options {
			continue
		}
		if im.Era == year.Text {
			return append(settings, kernelSetting("image", im.Name, year.Pos))
		}
		years = append(years, im.Era)
	}
	p.errs.Add(year.Pos, "kernel.era: no kernel of %s is of %s: known are %s (`kprobesim list images`)", with(t.Name, was), year.Text, strings.Join(years, ", "))
	return slices.Delete(settings, era, era+1)
}

// with names an instruction set and the options of an image.
func with(isa string, im workloads.Image) string {
	if im.Options == "" {
		return isa
	}
	return isa + " with " + im.Options
}

// last is the number of the last setting of a key, -1 for none.
func last(settings []doc.Setting, key string) int {
	for i := len(settings) - 1; i >= 0; i-- {
		if settings[i].Key() == key {
			return i
		}
	}
	return -1
}

// valueOf returns a key of the kernel after all settings.
func valueOf(root *doc.Node, settings []doc.Setting, key string) string {
	if i := last(settings, "kernel."+key); i >= 0 {
		return settings[i].Value.Text
	}
	return root.Find("kernel", key).Text
}

func kernelSetting(key, value string, pos doc.Pos) doc.Setting {
	return doc.Setting{Path: []string{"kernel", key}, Value: &doc.Node{Kind: doc.String, Text: value, Pos: pos}}
}
