// Package imagetest makes images of OCI and of docker for tests, the same bytes each time.
package imagetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// File is one of a tar archive: a program with Data, a folder if the name ends in a slash, a link To another file, or a hard link
// to one if To begins with an equals sign.
type File struct {
	Name, Data, To string
}

// Tar makes an archive.
func Tar(tb testing.TB, files ...File) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.Name, Mode: 0o755, Typeflag: tar.TypeReg, Size: int64(len(f.Data))}
		to, hard := strings.CutPrefix(f.To, "=")
		switch h.Linkname = to; {
		case strings.HasSuffix(f.Name, "/"):
			h.Typeflag = tar.TypeDir
		case hard:
			h.Typeflag = tar.TypeLink
		case to != "":
			h.Typeflag = tar.TypeSymlink
		}
		require.NoError(tb, w.WriteHeader(h))
		_, err := w.Write([]byte(f.Data))
		require.NoError(tb, err)
	}
	require.NoError(tb, w.Close())
	return b.Bytes()
}

// Gzip packs an archive.
func Gzip(tb testing.TB, b []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(b)
	require.NoError(tb, err)
	require.NoError(tb, z.Close())
	return out.Bytes()
}

// Image has the words of an image's configuration.
type Image struct {
	Platform             string // as linux/amd64
	Entrypoint, Cmd, Env []string
	Folder               string
}

// config is the configuration of an image with layers, which are not packed.
func (i Image) config(tb testing.TB, layers [][]byte) []byte {
	tb.Helper()
	os, arch, _ := strings.Cut(i.Platform, "/")
	var sums []string
	for _, l := range layers {
		sums = append(sums, sum(l))
	}
	return require.Must(json.Marshal(map[string]any{
		"os": os, "architecture": arch, "rootfs": map[string]any{"type": "layers", "diff_ids": sums},
		"config": map[string]any{"Entrypoint": i.Entrypoint, "Cmd": i.Cmd, "Env": i.Env, "WorkingDir": i.Folder},
	}))(tb)
}

func sum(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

// Docker makes what docker save writes of one image.
func Docker(tb testing.TB, i Image, layers ...[]byte) []byte {
	tb.Helper()
	config := i.config(tb, layers)
	name := strings.TrimPrefix(sum(config), "sha256:") + ".json"
	files, names := []File{{Name: name, Data: string(config)}}, []string{}
	for n, l := range layers {
		names = append(names, fmt.Sprintf("layer%d/layer.tar", n))
		files = append(files, File{Name: names[n], Data: string(l)})
	}
	list := require.Must(json.Marshal([]any{map[string]any{"Config": name, "RepoTags": []string{"test:latest"}, "Layers": names}}))(tb)
	return Tar(tb, append(files, File{Name: "manifest.json", Data: string(list)})...)
}

// Layout is a layout of OCI that is being made.
type Layout struct {
	files []File
}

// blob adds a blob and describes it.
func (l *Layout) blob(kind string, b []byte) map[string]any {
	s := sum(b)
	l.files = append(l.files, File{Name: "blobs/" + strings.Replace(s, ":", "/", 1), Data: string(b)})
	return map[string]any{"mediaType": "application/vnd.oci.image." + kind, "digest": s, "size": len(b)}
}

// Descriptor names an image or a list of images.
type Descriptor map[string]any

// For tells the platform in the descriptor.
func (d Descriptor) For(platform string) Descriptor {
	part := append(strings.Split(platform, "/"), "")
	d["platform"] = map[string]any{"os": part[0], "architecture": part[1], "variant": part[2]}
	return d
}

// Image adds an image, whose layers pack packs.
func (l *Layout) Image(tb testing.TB, i Image, pack func(testing.TB, []byte) []byte, layers ...[]byte) Descriptor {
	tb.Helper()
	var described []any
	for _, b := range layers {
		described = append(described, l.blob("layer.v1.tar+gzip", pack(tb, b)))
	}
	m := map[string]any{"schemaVersion": 2, "config": l.blob("config.v1+json", i.config(tb, layers)), "layers": described}
	return l.blob("manifest.v1+json", require.Must(json.Marshal(m))(tb))
}

// index lists images.
func index(tb testing.TB, of []Descriptor) []byte {
	tb.Helper()
	return require.Must(json.Marshal(map[string]any{"schemaVersion": 2, "manifests": of}))(tb)
}

// Index adds a list of images.
func (l *Layout) Index(tb testing.TB, of ...Descriptor) Descriptor {
	tb.Helper()
	return l.blob("index.v1+json", index(tb, of))
}

// Tar makes the archive, but for files that change drops by making their names empty.
func (l *Layout) Tar(tb testing.TB, change func(f *File), of ...Descriptor) []byte {
	tb.Helper()
	all := append([]File{{Name: "oci-layout", Data: `{"imageLayoutVersion":"1.0.0"}`}, {Name: "index.json", Data: string(index(tb, of))}}, l.files...)
	var kept []File
	for _, f := range all {
		if change(&f); f.Name != "" {
			kept = append(kept, f)
		}
	}
	return Tar(tb, kept...)
}
