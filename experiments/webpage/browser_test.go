package webpage_test

import (
	"cmp"
	"context"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kprobesim/experiments/webpage"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// browse opens a page in Chromium with options and returns what that printed.
func browse(t *testing.T, page string, options ...string) string {
	t.Helper()
	program := hosttools.Need(t, "chromium", "chromium", "the page in a browser")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	options = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,900", "--user-data-dir=" + t.TempDir()}, options...)
	out, err := exec.CommandContext(ctx, program, append(options, "file://"+page)...).Output()
	require.Need(t, err == nil, "chromium %v: %v", options, err)
	return string(out)
}

// pageFile writes the page of two runs, with more behind it, and returns its path.
func pageFile(t *testing.T, more string) string {
	t.Helper()
	b := require.Must(webpage.Write(twoRuns(t)))(t)
	file := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(file, append(b, more...), 0o600))
	return file
}

// TestPageInABrowser takes pictures of the page, which KPROBESIM_FIGURES names a folder for, and holds that light and dark
// have the papers of the style and that something is on them.
func TestPageInABrowser(t *testing.T) {
	page := pageFile(t, "")
	for _, c := range []struct {
		name, scheme string
		paper        uint32 // grey level of the corner, in 256
	}{{"dark", "0", 0x15}, {"light", "1", 0xff}} {
		if c.name == "light" && !hosttools.Whole(t, "the light page in a browser", "the dark one") {
			continue
		}
		shot := filepath.Join(cmp.Or(os.Getenv("KPROBESIM_FIGURES"), t.TempDir()), "report-"+c.name+".png")
		browse(t, page, "--blink-settings=preferredColorScheme="+c.scheme, "--screenshot="+shot)
		f := require.Must(os.Open(shot))(t)
		picture, err := png.Decode(f)
		require.NoError(t, cmp.Or(err, f.Close()))
		corner, inked := picture.At(2, 2), 0
		for y := range picture.Bounds().Dy() {
			for x := range picture.Bounds().Dx() {
				if picture.At(x, y) != corner {
					inked++
				}
			}
		}
		red, _, _, _ := corner.RGBA()
		require.That(t, red>>8 == c.paper && inked >= 5000, "%s: the paper is %#x, want %#x, and %d pixels differ from it", c.name, red>>8, c.paper, inked)
	}
}

// TestTablesSort clicks the head of a column twice, and keeps what the table is like after each. The first column of numbers has 2310
// above 9, which letters would sort the other way round.
func TestTablesSort(t *testing.T) {
	const click = `for (let i = 0; i < 2; i++) {
		document.querySelector("#run-1 th.n button").click();
		document.body.append("after click " + i + ": " + document.querySelector("#run-1").outerHTML);
	}`
	dom := browse(t, pageFile(t, "<script>"+click+"</script>"), "--dump-dom")
	_, dom, _ = strings.Cut(dom, "after click 0: ")
	once, twice, _ := strings.Cut(dom, "after click 1: ")
	for _, c := range []struct{ run, order, first, second string }{{once, "ascending", "9.0", "2310.0"}, {twice, "descending", "2310.0", "9.0"}} {
		_, run, ok := strings.Cut(c.run, `aria-sort="`+c.order+`"`)
		first, second := strings.Index(run, `&gt;`+c.first+`&lt;`), strings.Index(run, `&gt;`+c.second+`&lt;`)
		require.That(t, ok && first >= 0 && second >= first, "%s: head %v, %s at %d and %s at %d", c.order, ok, c.first, first, c.second, second)
	}
}
