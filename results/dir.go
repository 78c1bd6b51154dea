package results

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// WriteDir makes dir hold exactly the given files (slash-separated names below dir, sorted when
// written). They are written to a folder beside it, which then takes dir's place by rename, so that
// dir holds the old results or the new ones and never half of either. Between the two renames of a
// replacement dir is absent for a moment; a writer killed there is mended by the next one, which
// also clears what a killed writer left. Two writers of one dir at the same time are not supported.
//
// The files must include the manifest. A dir that is neither empty nor holds a manifest is not ours
// and is refused.
func WriteDir(dir string, files map[string][]byte) error {
	w, err := newDirWriter(dir)
	if err == nil {
		err = checkFiles(files)
	}
	if err == nil {
		err = w.write(files)
	}
	if err != nil {
		return fmt.Errorf("results directory %s: %w", dir, err)
	}
	return nil
}

// CheckDir says before a long run what WriteDir would find wrong with dir behind it: a place that cannot be written
// to, or a directory that is not ours. It makes the folders above dir and leaves dir as it is.
func CheckDir(dir string) error {
	w, err := newDirWriter(dir)
	if err == nil {
		err = w.prepare()
	}
	if err == nil {
		err = os.Mkdir(w.beside("new"), 0o755)
	}
	if err == nil {
		err = os.Remove(w.beside("new"))
	}
	if err != nil {
		return fmt.Errorf("results directory %s: %w", dir, err)
	}
	return nil
}

// newDirWriter refuses a directory that has no name of its own.
func newDirWriter(dir string) (dirWriter, error) {
	w := dirWriter{dir: filepath.Clean(dir)}
	if base := filepath.Base(w.dir); base == "." || base == ".." || base == string(filepath.Separator) {
		return w, errors.New("give it a name of its own")
	}
	return w, nil
}

func checkFiles(files map[string][]byte) error {
	if _, ok := files[ManifestName]; !ok {
		return errors.New("no " + ManifestName + " among the files")
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !fs.ValidPath(name) || name == "." {
			return fmt.Errorf("file name %q does not stay below the directory", name)
		}
	}
	return nil
}

// dirWriter replaces one directory.
type dirWriter struct{ dir string }

func (w dirWriter) beside(what string) string {
	return filepath.Join(filepath.Dir(w.dir), "."+filepath.Base(w.dir)+"."+what)
}

// prepare makes the folders above and sees whether dir may be replaced.
func (w dirWriter) prepare() error {
	if err := os.MkdirAll(filepath.Dir(w.dir), 0o755); err != nil {
		return err
	}
	if err := w.mend(); err != nil {
		return err
	}
	return w.checkOurs()
}

func (w dirWriter) write(files map[string][]byte) error {
	if err := w.prepare(); err != nil {
		return err
	}
	if err := writeFiles(w.beside("new"), files); err != nil {
		return errors.Join(err, os.RemoveAll(w.beside("new")))
	}
	return w.swap()
}

// mend puts back what a killed writer had moved away and removes what it left.
func (w dirWriter) mend() error {
	if _, err := os.Lstat(w.dir); errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(w.beside("old"), w.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.RemoveAll(w.beside("old")); err != nil {
		return err
	}
	return os.RemoveAll(w.beside("new"))
}

// checkOurs refuses to replace what this package did not write.
func (w dirWriter) checkOurs() error {
	info, err := os.Lstat(w.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("is not a directory; move it away or choose another place")
	}
	entries, err := os.ReadDir(w.dir)
	if err != nil || len(entries) == 0 {
		return err
	}
	if _, err := os.Lstat(filepath.Join(w.dir, ManifestName)); err != nil {
		return errors.New("holds files and no " + ManifestName +
			", so it is not replaced; choose another place or empty it")
	}
	return nil
}

func writeFiles(dir string, files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// swap moves the old directory away, the new one in, and removes the old; when the new one cannot
// move in, the old one returns.
func (w dirWriter) swap() error {
	err := os.Rename(w.dir, w.beside("old"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, os.RemoveAll(w.beside("new")))
	}
	if err := os.Rename(w.beside("new"), w.dir); err != nil {
		return errors.Join(err, w.mend())
	}
	return os.RemoveAll(w.beside("old"))
}
