// Package workloads holds the guest: a small kernel with the code a probe hit executes, the
// functions worth probing, and the images built from them.
//
// The sources are C and assembly under kernel; the images under images are built from them by
// kernel/build.sh (make guest) and embedded, so that running needs Go only. Each image carries
// the hash of the sources it was built from in its symbol kernel_source_hash.
package workloads

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Image is one embedded guest image.
type Image struct {
	Name    string // as written in experiment files, such as "x86_64-2010"
	ISA     string // name of the ISA it runs on
	Era     string // year whose kernels its probe path follows
	File    string // file under workloads/images
	Text    string // one line about it
	Options string // behind the era, as build.sh takes them: "-preempt"
	Preempt bool   // its code is preempted
}

//go:embed images/*.elf
var images embed.FS

//go:embed images/list.txt
var list string

// List returns the embedded images in a fixed order, that of images/list.txt, from which make guest
// takes them, too.
func List() []Image {
	var l []Image
	for line := range strings.Lines(list) {
		if im, ok := parseImage(line); ok {
			l = append(l, im)
		}
	}
	return l
}

// parseImage reads a line of the list; a comment is no image.
func parseImage(line string) (Image, bool) {
	f := strings.SplitN(strings.TrimSpace(line), " ", 3)
	if len(f) < 3 || strings.HasPrefix(line, "#") {
		return Image{}, false
	}
	name := f[0] + "-" + f[1]
	era, _, _ := strings.Cut(f[1], "-")
	options := strings.TrimPrefix(f[1], era)
	return Image{
		Name: name, ISA: f[0], Era: era, File: name + ".elf", Text: f[2], Options: options,
		Preempt: strings.Contains(options, "-preempt"),
	}, true
}

// Variant is build.sh's name for the era of the image.
func (im *Image) Variant() string { return im.Era + im.Options }

// Find returns the embedded image called name.
func Find(name string) (Image, bool) {
	for _, im := range List() {
		if im.Name == name {
			return im, true
		}
	}
	return Image{}, false
}

// Open returns the bytes of the image called name. A name with a slash in it is the path of an
// image that is not part of the program, relative to the working directory.
func Open(name string) ([]byte, error) {
	if im, ok := Find(name); ok {
		return images.ReadFile("images/" + im.File)
	}
	if !strings.Contains(name, "/") {
		return nil, fmt.Errorf("no guest image %q: the program has %s; write the path of your own "+
			"with a slash in it, such as ./%s", name, strings.Join(names(), ", "), name)
	}
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("guest image %s does not exist: %w", name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read guest image %s: %w", name, err)
	}
	return b, nil
}

func names() []string {
	var s []string
	for _, im := range List() {
		s = append(s, im.Name)
	}
	return s
}
