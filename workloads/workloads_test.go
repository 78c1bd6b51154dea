package workloads

import (
	"bytes"
	"debug/elf"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// The limits of an image. A machine loads at most 128 KiB of it: the largest kernel, that of ppc64 of 2017, has 90 KiB
// with the functions that modules call. The rest is names, types and lines, from which probes by line of source,
// headers of modules and the reports take what they say: up to 480 KiB for ppc64, whose records of where a value is
// are long. The program carries all images, so the file has a limit too.
const (
	loadedLimit = 128 << 10
	fileLimit   = 640 << 10
)

// A stale image is noticed without a compiler.
func TestImagesFresh(t *testing.T) {
	for _, im := range List() {
		b := require.Must(Open(im.Name))(t)
		got, want := imageHash(t, im.Name), sourceHash(t, im.ISA)
		require.That(t, got == want, "%s was built from sources %.12s, the sources are %.12s: run make guest", im.Name, got, want)
		require.That(t, len(b) <= fileLimit, "%s has %d bytes, the limit is %d KiB", im.Name, len(b), fileLimit>>10)
		n := loadedBytes(openELF(t, im.Name))
		require.That(t, n <= loadedLimit, "%s loads %d bytes, the limit is %d KiB", im.Name, n, loadedLimit>>10)
		require.That(t, !bytes.Contains(b, []byte("/tmp/")) && !bytes.Contains(b, []byte("/usr/lib/")), "%s contains paths of the machine it was built on", im.Name)
	}
}

// loadedBytes is how much of an image goes into a machine's memory.
func loadedBytes(f *elf.File) uint64 {
	var n uint64
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			n += p.Filesz
		}
	}
	return n
}

// compilers are the version and the target of the compilers of the committed images (Debian 12), by
// instruction set.
var compilers = map[string]struct{ name, builtWith string }{
	"i386":   {"gcc", "12.2.0 x86_64-linux-gnu"},
	"x86_64": {"gcc", "12.2.0 x86_64-linux-gnu"},
	"ppc64":  {"powerpc64-linux-gnu-gcc", "12.2.0 powerpc64-linux-gnu"},
	"arm":    {"arm-linux-gnueabi-gcc", "12.2.0 arm-linux-gnueabi"},
}

// With the compiler the images were built with, building again gives the same bytes.
func TestRebuild(t *testing.T) {
	for _, im := range someImages(t, "building every guest image", Image.isa) {
		t.Run(im.Name, func(t *testing.T) {
			t.Parallel()
			holdRebuild(t, im)
		})
	}
}

// isa and year tell images apart of which some are tried in place of all.
func (im Image) isa() string  { return im.ISA }
func (im Image) year() string { return im.ISA + im.Era }

// someImages are all images at night, those that have each year and option where long tests are asked for, and elsewhere the last
// one of each sort: TestImagesFresh holds the hash of its sources in every image.
func someImages(t *testing.T, what string, sort func(Image) string) []Image {
	t.Helper()
	const instead = "and the hash of its sources in every image"
	if hosttools.Whole(t, what, "one of each instruction set, or of each of its years, "+instead) {
		if hosttools.Night(t, what, "one of each year and option of an instruction set, "+instead) {
			return List()
		}
		return covering(List())
	}
	last := map[string]string{}
	for _, im := range List() {
		if last[sort(im)] == "" || im.Options == "" {
			last[sort(im)] = im.Name
		}
	}
	return slices.DeleteFunc(List(), func(im Image) bool { return last[sort(im)] != im.Name })
}

// covering are images that have all years and options of their instruction sets: again and again the first that has most of those
// that are missing.
func covering(all []Image) (some []Image) {
	had := map[string]bool{}
	for {
		best, most := Image{}, 0
		for _, im := range all {
			n := 0
			for _, x := range im.marks() {
				if !had[x] {
					n++
				}
			}
			if n > most {
				best, most = im, n
			}
		}
		if most == 0 {
			return some
		}
		for _, x := range best.marks() {
			had[x] = true
		}
		some = append(some, best)
	}
}

// marks are the year of an image and its options, each with the instruction set.
func (im Image) marks() []string {
	marks := []string{im.year()}
	for _, option := range strings.FieldsFunc(im.Options, func(c rune) bool { return c == '-' }) {
		marks = append(marks, im.ISA+option)
	}
	return marks
}

// TestCovering leaves out of the images no year and no option.
func TestCovering(t *testing.T) {
	some := covering(List())
	for _, im := range List() {
		for _, x := range im.marks() {
			require.That(t, slices.ContainsFunc(some, func(im Image) bool { return slices.Contains(im.marks(), x) }), "no image has the %s of %s", x, im.Name)
		}
	}
	require.That(t, len(some) <= len(List())/2, "%d of %d images", len(some), len(List()))
}

func holdRebuild(t *testing.T, im Image) {
	c := compilers[im.ISA]
	const what = "building the guest images"
	hosttools.Need(t, c.name, "the gcc of "+c.builtWith, what)
	version := require.Must(exec.Command(c.name, "-dumpfullversion").Output())(t)
	target := require.Must(exec.Command(c.name, "-dumpmachine").Output())(t)
	got := strings.TrimSpace(string(version)) + " " + strings.TrimSpace(string(target))
	if got != c.builtWith {
		hosttools.Missing(t, what, c.name+" is "+got+", the images are built with "+c.builtWith)
	}
	out := filepath.Join(t.TempDir(), im.File)
	if msg, err := exec.Command("sh", "kernel/build.sh", out, im.Variant(), im.ISA).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	built := require.Must(os.ReadFile(out))(t)
	want := require.Must(Open(im.Name))(t)
	require.That(t, bytes.Equal(built, want), "building gives other bytes than are committed: run make guest")
}

func TestOpenErrors(t *testing.T) {
	for name, want := range map[string]string{
		"x86_65":       "the program has i386-2005, i386-2005-userprobes, i386-2006, i386-2006-stepping, i386-2006-trapping, i386-2006-stepping-trapping, i386-2010, i386-2010-preempt, i386-2020, i386-2020-untraced, i386-2020-preempt, x86_64-2005, x86_64-2005-userprobes, x86_64-2006, x86_64-2010, x86_64-2010-preempt, x86_64-2010-nokprobes, x86_64-2020, x86_64-2020-untraced, x86_64-2020-preempt, ppc64-2005, ppc64-2005-userprobes, ppc64-2010, ppc64-2010-preempt, ppc64-2010-nokprobes, ppc64-2011, ppc64-2017, ppc64-2017-preempt, ppc64-2017-ordered, arm-2010, arm-2010-userprobes, arm-2010-preempt, arm-2010-ordered, arm-2014, arm-2014-preempt, arm-2014-ordered, i386-2010-nmi, i386-2020-nmi, x86_64-2010-nmi, x86_64-2020-nmi",
		"./absent.elf": "does not exist",
		"./kernel":     "cannot read guest image",
	} {
		_, err := Open(name)
		require.That(t, err != nil && strings.Contains(err.Error(), want), "Open(%q) = %v, want an error with %q", name, err, want)
	}
}

func TestOpenPath(t *testing.T) {
	b, err := Open("./images/" + List()[0].File)
	require.Need(t, err == nil && len(b) != 0, "%d bytes, %v", len(b), err)
}

// The list names every file of images, and every file of images is in the list.
func TestList(t *testing.T) {
	files := require.Must(images.ReadDir("images"))(t)
	require.That(t, len(files) == len(List()), "%d files, %d images in the list", len(files), len(List()))
	for _, im := range List() {
		require.That(t, im.Name == im.ISA+"-"+im.Variant() && im.Text != "", "%+v", im)
		_, err := images.Open("images/" + im.File)
		require.That(t, err == nil, "%s is listed and not there: %v", im.Name, err)
	}
}

// The program carries every source: a file that the hash of build.sh knows and the program's does not would
// make all images stale.
func TestSourcesAreComplete(t *testing.T) {
	err := fs.WalkDir(os.DirFS("."), "kernel", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			_, err = sources.Open(path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for _, f := range []string{"include/asm/ptrace.h", "work/sites.S", "image.lds", "isa/i386.sh"} {
		if _, err := sources.Open("kernel/arch/x86/" + f); err != nil {
			t.Error(err)
		}
	}
}
