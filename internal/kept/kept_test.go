package kept

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"kprobesim/internal/require"
)

// most is how many files the folders of tests keep.
const most = 4

// TestKept finds what was kept, and nothing where a file was changed or cut off.
func TestKept(t *testing.T) {
	parent := t.TempDir()
	f := Folder{path: filepath.Join(parent, "a", "b"), most: most}
	packed, content := []byte("packed"), bytes.Repeat([]byte("content"), least)
	_, ok := f.Load(packed)
	require.That(t, !ok, "an empty folder has a kernel")
	f.Save(packed, content)
	if got, ok := f.Load(packed); !ok || !bytes.Equal(got, content) {
		t.Fatal("the kernel is not there")
	}
	if _, ok := f.Load([]byte("other")); ok {
		t.Error("another kernel is there")
	}
	for dir := f.path; dir != parent; dir = filepath.Dir(dir) {
		info := require.Must(os.Stat(dir))(t)
		require.Equal(t, info.Mode().Perm(), os.FileMode(0o700), "who may look into %s", dir)
	}
	file, _ := f.file(packed)
	whole := require.Must(os.ReadFile(file))(t)
	changed := bytes.Clone(whole)
	changed[100]++
	for _, b := range [][]byte{changed, whole[:len(whole)-1], whole[:5], nil} {
		require.NoError(t, os.WriteFile(file, b, 0o600))
		_, ok := f.Load(packed)
		require.That(t, !ok, "%d damaged bytes count as a kernel", len(b))
	}
}

// TestBound keeps the newest kernels, and no other files.
func TestBound(t *testing.T) {
	f := Folder{path: t.TempDir(), most: most}
	for i := range byte(3 * most) {
		f.Save([]byte{i}, make([]byte, least))
	}
	f.Save([]byte("small"), make([]byte, least-1)) // would drive another one out
	all, err := os.ReadDir(f.path)
	require.That(t, err == nil && len(all) == most, "%d files are kept, want %d; %v", len(all), most, err)
	_, ok := f.Load([]byte{3*most - 1})
	require.That(t, ok, "the newest is not there")
}

// TestNowhere keeps nothing where there is no folder, or a file in its place.
func TestNowhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, f := range []Folder{None, {path: file, most: most}} {
		f.Save([]byte("packed"), make([]byte, least))
		_, ok := f.Load([]byte("packed"))
		require.That(t, !ok, "%q has a kernel", f.path)
	}
}

// TestByTheProgram finds what the same program has kept, and not what another one has, or one that cannot be told from others.
func TestByTheProgram(t *testing.T) {
	dir, key, content := filepath.Join(t.TempDir(), "kept"), []byte("key"), make([]byte, least)
	of := func(program string) Folder {
		return Folder{path: dir, most: most, by: func() string { return program }}
	}
	of("").Save(key, content)
	_, err := os.Stat(dir)
	require.That(t, os.IsNotExist(err), "something is kept for no program: %v", err)
	of("one").Save(key, content)
	for program, want := range map[string]bool{"one": true, "two": false, "": false} {
		_, ok := of(program).Load(key)
		require.That(t, ok == want, "%q finds it: %v", program, ok)
	}
	require.That(t, len(Boots().by()) == 64, "the executable of this test cannot be read")
}

// TestUnfinished leaves nothing where the file cannot get its name.
func TestUnfinished(t *testing.T) {
	f := Folder{path: t.TempDir(), most: most}
	file, _ := f.file([]byte("key"))
	require.NoError(t, os.Mkdir(file, 0o700))
	f.Save([]byte("key"), make([]byte, least))
	all, err := os.ReadDir(f.path)
	require.That(t, err == nil && len(all) == 1, "%d files, %v", len(all), err)
}

// TestUsed drops what was not used for longest.
func TestUsed(t *testing.T) {
	f := Folder{path: t.TempDir(), most: most}
	for i := range byte(most) {
		f.Save([]byte{i}, make([]byte, least))
		file, _ := f.file([]byte{i})
		at := time.Unix(int64(i), 0)
		require.NoError(t, os.Chtimes(file, at, at))
	}
	_, first := f.Load([]byte{0})
	f.Save([]byte("new"), make([]byte, least))
	_, kept := f.Load([]byte{0})
	_, second := f.Load([]byte{1})
	require.That(t, first && kept && !second, "used %v, and kept %v; not used, and kept %v", first, kept, second)
}

// TestFolders lie below the user's folder for caches, and nowhere where there is none.
func TestFolders(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/caches")
	for _, x := range []struct {
		f    Folder
		path string
		most int
	}{{Kernels(), "/caches/kprobesim/kernels", 4}, {Boots(), "/caches/kprobesim/boots", 8}} {
		require.That(t, x.f.path == x.path && x.f.most == x.most, "%+v, want %s with %d files", x.f, x.path, x.most)
	}
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	require.Equal(t, Kernels().path, "", "where there is no home")
}
