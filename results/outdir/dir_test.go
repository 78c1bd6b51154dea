package outdir

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"kprobesim/internal/require"
)

// tree reads a folder as WriteDir takes it.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(data)
		return err
	}))
	return files
}

func files(text string) map[string][]byte {
	return map[string][]byte{ManifestName: []byte(text), "figures/" + text + ".svg": []byte(text)}
}

// theirs are files that somebody put into a results directory.
func theirs() map[string]string {
	return map[string]string{"notes.txt": "look at k", "mine/plot.svg": "drawn by hand"}
}

// put writes what somebody puts into a directory.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
}

// holds asserts that dir has the files of files(text), and the further files, and that nothing stands beside it.
func holds(t *testing.T, dir, text string, further map[string]string) {
	t.Helper()
	got := tree(t, filepath.Dir(dir))
	sums := map[string]string{}
	for name, b := range files(text) {
		sums[name] = hash(b)
	}
	want := map[string]string{ManifestName: text, "figures/" + text + ".svg": text, SumsName: string(listed(sums))}
	maps.Copy(want, further)
	for name, text := range want {
		path := filepath.Base(dir) + "/" + name
		require.That(t, got[path] == text, "%s is %q, want %q", path, got[path], text)
	}
	require.That(t, len(got) == len(want), "the folder holds %v, want %v alone", got, want)
}

func TestWriteDirReplaces(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out", "overhead")
	for _, text := range []string{"one", "two", "two"} {
		require.NoError(t, WriteDir(dir, files(text)))
		holds(t, dir, text, nil)
	}
}

// TestWriteDirKeepsWhatOthersPutThere has notes, a folder and a changed figure in the directory when it is replaced.
func TestWriteDirKeepsWhatOthersPutThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out", "overhead")
	require.NoError(t, WriteDir(dir, files("one")))
	put(t, dir, theirs())
	require.NoError(t, os.Symlink("notes.txt", filepath.Join(dir, "link")))
	for range 2 {
		require.NoError(t, WriteDir(dir, files("two")))
		want := theirs()
		want["link"] = "look at k"
		holds(t, dir, "two", want)
	}
	put(t, dir, map[string]string{"figures/two.svg": "changed"})
	require.NoError(t, WriteDir(dir, files("three")))
	want := theirs()
	want["link"], want["figures/two.svg"] = "look at k", "changed"
	holds(t, dir, "three", want)
	put(t, dir, map[string]string{"figures/three.svg": "changed, too"})
	require.NoError(t, WriteDir(dir, files("three")))
	want["figures/three.svg.kept"] = "changed, too"
	holds(t, dir, "three", want)
}

func TestWriteDirMends(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out", "overhead")
	w := dirWriter{dir: dir}
	require.NoError(t, WriteDir(dir, files("one")))
	require.NoError(t, w.writeFiles(w.beside("new"), files("half")))
	require.NoError(t, os.Rename(dir, w.beside("old")))
	require.NoError(t, w.mend())
	holds(t, dir, "one", nil)
	require.NoError(t, w.writeFiles(w.beside("new"), files("half")))
	require.NoError(t, WriteDir(dir, files("two")))
	holds(t, dir, "two", nil)
}

func TestWriteDirKeepsOldOnFailure(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out", "overhead")
	require.NoError(t, WriteDir(dir, files("one")))
	bad := files("two")
	bad["figures"] = []byte("a file where a folder must be")
	require.That(t, WriteDir(dir, bad) != nil, "a file and a folder of one name were written")
	holds(t, dir, "one", nil)
}

// TestWriteFile replaces a file, leaves nothing beside it when that fails, and leaves devices what they are.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, want := range []string{"first", "second"} {
		require.NoError(t, WriteFile(path, []byte(want)))
		got, err := os.ReadFile(path)
		require.That(t, err == nil && string(got) == want, "%q, %v, want %q", got, err, want)
	}
	require.That(t, WriteFile(filepath.Join(path, "below"), []byte("third")) != nil, "written below a file")
	entries, err := os.ReadDir(dir)
	require.That(t, err == nil && len(entries) == 1, "left are %v, %v", entries, err)
	if got, err := os.ReadFile(path); err != nil || string(got) != "second" {
		t.Errorf("%q, %v", got, err)
	}
	before := require.Must(os.Stat(os.DevNull))(t)
	if err := WriteFile(os.DevNull, []byte("fourth")); err != nil {
		t.Error(err)
	}
	if after, err := os.Stat(os.DevNull); err != nil || after.Mode() != before.Mode() {
		t.Errorf("%s is another file now: %v", os.DevNull, err)
	}
}

func TestWriteDirRefuses(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, "thesis.tex"), []byte("years"), 0o644))
	require.Error(t, WriteDir(home, files("x")), "not replaced", "a foreign folder")
	require.That(t, WriteDir(filepath.Join(home, "thesis.tex"), files("x")) != nil, "a file was replaced")
	got := tree(t, home)
	require.That(t, len(got) == 1 && got["thesis.tex"] == "years", "the foreign folder holds %v now", got)
	for _, dir := range []string{"", ".", "..", "/"} {
		require.Error(t, WriteDir(dir, files("x")), "give it a name of its own", "directory %q", dir)
	}
	for _, name := range []string{"../x", "/x", ".", "a//b", ""} {
		bad := files("x")
		bad[name] = nil
		require.That(t, WriteDir(filepath.Join(home, "new"), bad) != nil, "file name %q was taken", name)
	}
	require.That(t, WriteDir(filepath.Join(home, "new"), map[string][]byte{"a": nil}) != nil, "no manifest, and it was written")
}

// TestLinksInTheWay has links of somebody under the names of files that a run writes: each gets another name, as files do.
func TestLinksInTheWay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "overhead")
	require.NoError(t, WriteDir(dir, files("one")))
	put(t, dir, map[string]string{"notes.txt": "look at k"})
	require.NoError(t, os.Symlink("notes.txt", filepath.Join(dir, "new.csv")))
	require.NoError(t, os.Symlink("../notes.txt", filepath.Join(dir, "figures", "two.svg"))) // where the next run has a file
	require.NoError(t, os.Remove(filepath.Join(dir, "figures", "one.svg")))
	require.NoError(t, os.Symlink("../notes.txt", filepath.Join(dir, "figures", "one.svg"))) // where this run had one
	two := files("two")
	two["new.csv"] = []byte("new")
	require.NoError(t, WriteDir(dir, two))
	for name, want := range map[string]string{
		"new.csv": "new", "new.csv.kept": "look at k", "figures/two.svg": "two", "figures/two.svg.kept": "look at k", "figures/one.svg": "look at k",
	} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.That(t, err == nil && string(b) == want, "%s is %q, %v, want %q", name, b, err, want)
	}
}

// TestStreams writes a file as a stream beside others, with its hash in the list. A stream that fails leaves what was there.
func TestStreams(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	write := func(fails error) error {
		return WriteStreams(dir, files("one"), map[string]Stream{"large.csv": func(w io.Writer) error {
			_, err := io.WriteString(w, "1,2\n")
			return errors.Join(err, fails)
		}})
	}
	require.NoError(t, write(nil))
	sums, _, err := Written(dir)
	require.NoError(t, err)
	require.That(t, sums["large.csv"] == hash([]byte("1,2\n")) && sums[ManifestName] != "", "listed are %v", sums)
	other := t.TempDir()
	for _, line := range []string{"x", "hash name", "hash  ../name", "hash  /name", "hash  "} {
		require.NoError(t, os.WriteFile(filepath.Join(other, SumsName), []byte(line+"\n"), 0o644))
		_, _, err := Written(other)
		require.Error(t, err, "is no hash and name", "%q", line)
	}
	before := tree(t, dir)
	require.Error(t, write(errors.New("no space")), "large.csv: no space", "a stream that fails")
	after := tree(t, dir)
	require.That(t, maps.Equal(before, after), "a stream that failed left %v", after)
}
