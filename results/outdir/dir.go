package outdir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// SumsName is the file that lists what a run wrote into its directory, in the form of sha256sum: the files of a
// directory that it does not list are somebody else's.
const SumsName = "SHA256SUMS"

// WriteDir makes dir hold the given files (slash-separated names below dir) and SumsName, in place of those that it
// wrote there before. They are written to a folder beside it, which then takes dir's place by rename, so that
// dir holds the old results or the new ones and never half of either. Between the two renames of a
// replacement dir is absent for a moment; a writer killed there is mended by the next one, which
// also clears what a killed writer left. Several writers of one dir take turns.
//
// What others have put into dir stays: files that were not written here keep their names, and one that was
// written here and changed since, or is in the way of a new one, gets ".kept" behind its name.
//
// The files must include the manifest. A dir that is neither empty nor holds a manifest is not ours
// and is refused.
func WriteDir(dir string, files map[string][]byte) error { return WriteStreams(dir, files, nil) }

// Stream writes a file that is too large to be in memory.
type Stream = func(io.Writer) error

// WriteStreams is WriteDir with further files, which are written one after the other.
func WriteStreams(dir string, files map[string][]byte, streams map[string]Stream) error {
	w, err := newDirWriter(dir)
	if err == nil {
		err = checkFiles(files)
	}
	if err == nil {
		err = w.write(files, streams)
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
		err = w.alone(func() error { return errors.Join(w.mkdir(w.beside("new")), w.remove(w.beside("new"))) })
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
		if !fs.ValidPath(name) || name == "." || name == SumsName {
			return fmt.Errorf("file name %q does not stay below the directory, or is the list of files", name)
		}
	}
	return nil
}

// dirWriter replaces one directory. A test sets fault, which is asked before every change on disk and may have it
// fail.
type dirWriter struct {
	dir   string
	fault func(op, path string) error
}

func (w dirWriter) beside(what string) string {
	return filepath.Join(filepath.Dir(w.dir), "."+filepath.Base(w.dir)+"."+what)
}

// alone makes the folders above, waits until no other writer is at dir, sees whether dir may be replaced, and calls
// body.
func (w dirWriter) alone(body func() error) error {
	if err := os.MkdirAll(filepath.Dir(w.dir), 0o755); err != nil {
		return err
	}
	unlock, err := lockFile(w.beside("lock"))
	if err != nil {
		return err
	}
	err = w.mend()
	if err == nil {
		err = w.checkOurs()
	}
	if err == nil {
		err = body()
	}
	return errors.Join(err, unlock())
}

func (w dirWriter) write(files map[string][]byte, streams map[string]Stream) error {
	files = maps.Clone(files)
	delete(files, SumsName)
	return w.alone(func() error {
		sums, err := w.writeStreams(w.beside("new"), streams)
		if err == nil {
			for name, b := range files {
				sums[name] = hash(b)
			}
			files[SumsName] = listed(sums)
			err = w.writeFiles(w.beside("new"), files)
		}
		if err != nil {
			return errors.Join(err, w.remove(w.beside("new")))
		}
		return w.swap()
	})
}

// writeStreams writes files into the top of dir and returns their hashes by name.
func (w dirWriter) writeStreams(dir string, streams map[string]Stream) (map[string]string, error) {
	sums := map[string]string{}
	if len(streams) == 0 {
		return sums, nil
	}
	if err := w.mkdir(dir); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(streams)) {
		h := sha256.New()
		f, err := os.Create(filepath.Join(dir, name))
		if err == nil {
			err = errors.Join(streams[name](io.MultiWriter(f, h)), f.Close())
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		sums[name] = hex.EncodeToString(h.Sum(nil))
	}
	return sums, nil
}

// listed lists the hashes of files as sha256sum does.
func listed(sums map[string]string) []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&b, "%s  %s\n", sums[name], name)
	}
	return b.Bytes()
}

// Written returns the hashes of the files that a run wrote into a results directory, by name, and whether the
// directory has the list of them. Directories of earlier versions of the program have none.
func Written(dir string) (map[string]string, bool, error) {
	b, err := os.ReadFile(filepath.Join(dir, SumsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	files := map[string]string{SumsName: ""}
	for text := range strings.Lines(string(b)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(text, "\n"), "  ")
		if !ok || !fs.ValidPath(name) {
			return nil, false, fmt.Errorf("%s: line %.80q is no hash and name: name another directory, or remove the file", filepath.Join(dir, SumsName), text)
		}
		files[name] = sum
	}
	return files, true, nil
}

// mend puts back what a killed writer had moved away and removes what it left. When it had moved the new directory in,
// what others had in the old one may not have been brought over.
func (w dirWriter) mend() error {
	if err := w.remove(w.beside("new")); err != nil {
		return err
	}
	if _, err := os.Lstat(w.beside("old")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Lstat(w.dir); errors.Is(err, fs.ErrNotExist) {
		return w.rename(w.beside("old"), w.dir)
	}
	return w.dropOld()
}

// dropOld removes the directory that was replaced, behind bringing over what others had in it.
func (w dirWriter) dropOld() error {
	if err := w.bring(w.beside("old"), w.dir); err != nil {
		return err
	}
	return w.remove(w.beside("old"))
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

func (w dirWriter) writeFiles(dir string, files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := w.mkdir(filepath.Dir(path)); err != nil {
			return err
		}
		if err := w.put(path, files[name]); err != nil {
			return err
		}
	}
	return nil
}

// swap moves the old directory away, the new one in, and removes the old; when the new one cannot
// move in, the old one returns. Files of others in the old one are in the new one before it moves, so that nobody
// misses them. Links and pipes of others follow behind that, with files that came meanwhile.
func (w dirWriter) swap() error {
	if err := w.bring(w.dir, w.beside("new")); err != nil {
		return errors.Join(err, w.remove(w.beside("new")))
	}
	if err := w.rename(w.dir, w.beside("old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, w.remove(w.beside("new")))
	}
	if err := w.rename(w.beside("new"), w.dir); err != nil {
		return errors.Join(err, w.mend())
	}
	if _, err := os.Lstat(w.beside("old")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return w.dropOld()
}
