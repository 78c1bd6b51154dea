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
	Preempt bool   // its code is preempted
}

//go:embed images/*.elf
var images embed.FS

// List returns the embedded images in a fixed order.
func List() []Image {
	return []Image{{
		Name: "i386-2005", ISA: "i386", Era: "2005", File: "i386-2005.elf",
		Text: "i386 kernel of 2.6.13 to 2.6.15 for one processor: every probe steps, return probes trap",
	}, {
		Name: "i386-2010", ISA: "i386", Era: "2010", File: "i386-2010.elf",
		Text: "i386 kernel of 2.6.33/34: boosting, direct return trampolines, jump optimization",
	}, {
		Name: "i386-2010-preempt", ISA: "i386", Era: "2010", File: "i386-2010-preempt.elf",
		Text: "the same with preemption of kernel code", Preempt: true,
	}, {
		Name: "x86_64-2005", ISA: "x86_64", Era: "2005", File: "x86_64-2005.elf",
		Text: "x86-64 kernel of 2.6.13 to 2.6.15: every probe steps, return probes trap at a trampoline",
	}, {
		Name: "x86_64-2010", ISA: "x86_64", Era: "2010", File: "x86_64-2010.elf",
		Text: "x86-64 kernel of 2.6.33/34: boosting, direct return trampolines, jump optimization",
	}, {
		Name: "x86_64-2010-preempt", ISA: "x86_64", Era: "2010", File: "x86_64-2010-preempt.elf",
		Text: "the same with preemption of kernel code", Preempt: true,
	}}
}

// Variant is what build.sh calls the era of the image.
func (im *Image) Variant() string {
	if im.Preempt {
		return im.Era + "-preempt"
	}
	return im.Era
}

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
