package rootfs_test

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"kprobesim/distro/rootfs"
	. "kprobesim/distro/rootfs/imagetest"
	"kprobesim/internal/require"
)

// program is an image of two platforms' worth: what it runs, in the environment that it says.
var program = Image{Platform: "linux/amd64", Entrypoint: []string{"tool"}, Cmd: []string{"-v"}, Env: []string{"PATH=/usr/bin", "A=b"}, Folder: "/etc"}

// layers are three, each of which changes what is below it.
func layers(t *testing.T) [][]byte {
	return [][]byte{
		Tar(t, File{Name: "usr/bin/"}, File{Name: "bin", To: "usr/bin"}, File{Name: "bin/tool", Data: "first"}, File{Name: "bin/gone", Data: "gone"},
			File{Name: "etc/"}, File{Name: "etc/a", Data: "a"}, File{Name: "etc/sub/b", Data: "b"},
			File{Name: "var/"}, File{Name: "var/c", Data: "c"}, File{Name: "opt/d/e", Data: "e"}, File{Name: "file", Data: "file"}),
		Tar(t, File{Name: "etc/new", Data: "new"}, File{Name: "etc/.wh..wh..opq"}, File{Name: "./bin/.wh.gone"}, File{Name: "bin/tool", Data: "second"},
			File{Name: ".wh.var"}, File{Name: "none/.wh.none"}, File{Name: ".wh..wh.aufs"}, File{Name: "opt/d", Data: "a file now"}, File{Name: "file/", To: ""}),
		Tar(t, File{Name: "usr/bin/again", To: "=bin/tool"}, File{Name: "file/in", Data: "in"}, File{Name: "/var", To: "../../etc"}),
	}
}

// stacked are the files of layers.
const stacked = "bin etc etc/new file file/in opt opt/d usr usr/bin usr/bin/again usr/bin/tool var "

func plain(_ testing.TB, b []byte) []byte { return b }

func zstandard(tb testing.TB, b []byte) []byte {
	return require.Must(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)))(tb).EncodeAll(b, nil)
}

func unchanged(*File) {}

// TestImage puts layers on each other, of the right one of several platforms, however they are packed.
func TestImage(t *testing.T) {
	all := layers(t)
	other := program
	other.Platform = "linux/arm64"
	images := map[string][]byte{"docker": Docker(t, program, all...)}
	for name, pack := range map[string]func(testing.TB, []byte) []byte{"plain": plain, "gzip": Gzip, "zstd": zstandard} {
		var one, several, inside Layout
		images["one, "+name] = one.Tar(t, unchanged, one.Image(t, program, pack, all...))
		images["several, "+name] = several.Tar(t, unchanged, several.Image(t, other, pack, all[0]).For("linux/arm64"),
			several.Image(t, program, pack, all...).For("linux/amd64"), several.Image(t, program, pack, all[1]).For("linux/amd64/v3"))
		list := inside.Index(t, inside.Image(t, other, pack, all[0]), inside.Image(t, program, pack, all...))
		images["inside, "+name] = Gzip(t, inside.Tar(t, unchanged, list, list))
	}
	for name, b := range images {
		tree := rootfs.Tree{}
		image, err := tree.Archive(b)
		require.Need(t, err == nil && image != nil, "%s: %v", name, err)
		require.Equal(t, names(tree), stacked, "%s", name)
		for file, want := range map[string]string{"bin/again": "second", "var/new": "new", "opt/d": "a file now", "file/in": "in"} {
			f, ok := tree.Find(file)
			require.That(t, ok && string(f.Data) == want, "%s: %s has %q", name, file, f.Data)
		}
		require.That(t, slices.Equal(image.Command, []string{"tool", "-v"}) && slices.Equal(image.Env, program.Env) && image.Folder == "/etc", "%s: %+v", name, image)
	}
	plain := rootfs.Tree{}
	image, err := plain.Archive(Tar(t, File{Name: "manifest.json", Data: `{"name": "a page"}`}, File{Name: "page", Data: "x"}))
	require.That(t, err == nil && image == nil && names(plain) == "manifest.json page ", "a root with a manifest of its own: %v, %v, %s", err, image, names(plain))
	onto := tree()
	require.NoError(t, add(onto, images["docker"]))
	f, _ := onto.Find("/bin/tool")
	require.Equal(t, string(f.Data), "second", "an image goes before what is there")
	if f, ok := onto.Find("etc/other"); !ok {
		t.Errorf("an image took %v away from what is no layer of it", f)
	}
}

// TestImageOfARM takes the image for soft float, which a list or a configuration names.
func TestImageOfARM(t *testing.T) {
	all := layers(t)
	soft := program
	soft.Platform = "linux/arm"
	var several, hard Layout
	b := several.Tar(t, unchanged, several.Image(t, program, plain, all[0]).For("linux/amd64"),
		several.Image(t, soft, plain, all[0]).For("linux/arm/v7"), several.Image(t, soft, plain, all...).For("linux/arm/v5"))
	for name, b := range map[string][]byte{"a list": b, "docker save": Docker(t, soft, all...)} {
		tree := rootfs.Tree{}
		image, err := tree.ArchiveOf(elf.EM_ARM, b)
		require.That(t, err == nil && image != nil && names(tree) == stacked, "%s: %v, %v, %s", name, image, err, names(tree))
	}
	_, err := rootfs.Tree{}.ArchiveOf(elf.EM_ARM, hard.Tar(t, unchanged, hard.Image(t, soft, plain, all[0]).For("linux/arm/v7")))
	require.Error(t, err, "has no image for linux/arm/v5, the platform of the kernel, but for linux/arm/v7: save the other one", "hard float")
}

// TestImageRefused names what is wrong with an image, and the file.
func TestImageRefused(t *testing.T) {
	all := layers(t)
	arm := program
	arm.Platform = "linux/arm64"
	one := func(change func(f *File), layers ...[]byte) []byte {
		var l Layout
		return l.Tar(t, change, l.Image(t, program, Gzip, layers...))
	}
	layer := func(files ...File) []byte { return one(unchanged, Tar(t, files...)) }
	packed := string(Gzip(t, all[1]))
	var armed, two, tagged Layout
	two.Image(t, program, Gzip, all[0])
	image := tagged.Image(t, program, plain, all[0])
	image["digest"] = "sha512:00"
	var looped, deep Layout
	loop := looped.Index(t)
	loop["digest"] = "sha256:../../index.json"
	lists := deep.Index(t)
	for range 64 {
		lists = deep.Index(t, lists, lists)
	}
	for want, b := range map[string][]byte{
		"has no image for linux/amd64, the platform of the kernel, but for linux/386, linux/arm64: save the other one": armed.Tar(t, unchanged,
			armed.Image(t, arm, Gzip, all[0]), armed.Image(t, program, Gzip, all[0]).For("linux/386")),
		"but for linux/arm64":              Docker(t, arm, all[0]),
		"has 2 images for linux/amd64":     two.Tar(t, unchanged, two.Image(t, program, Gzip, all[0]), two.Image(t, program, Gzip, all[1])),
		"has no image":                     new(Layout).Tar(t, unchanged),
		"as no image":                      deep.Tar(t, unchanged, lists),
		"index.json is not in the archive": one(func(f *File) { f.Name = strings.TrimPrefix(f.Name, "index.json") }, all...),
		"index.json: damaged: invalid":     one(func(f *File) { f.Data = strings.TrimPrefix(f.Data, `{"manifests"`) }, all...),
		" is not in the archive: save the im": one(func(f *File) {
			if f.Data == packed {
				f.Name = ""
			}
		}, all...),
		" is damaged: its sum is ":                                one(func(f *File) { f.Data = strings.Replace(f.Data, packed, packed+"x", 1) }, all...),
		`"sha512:00" and not by its sha256`:                       tagged.Tar(t, unchanged, image),
		`"sha256:../../index.json" and not by its sha256`:         looped.Tar(t, unchanged, loop),
		"leads out of the root":                                   layer(File{Name: "bin/../../x", Data: "x"}),
		"y: leads out of the root":                                layer(File{Name: "x"}, File{Name: "y", To: "=../x"}),
		"the other name x of this file comes":                     layer(File{Name: "y", To: "=x"}),
		"is neither a folder nor an archive":                      one(unchanged, []byte(strings.Repeat("no archive ", 100))),
		"damaged behind its first 3 files":                        one(unchanged, all[1][:2500]),
		"x: damaged: unexpected EOF":                              one(unchanged, Tar(t, File{Name: "x", Data: strings.Repeat("x", 3000)})[:1024]),
		"manifest.json: damaged":                                  bytes.Replace(Docker(t, program, all...), []byte(`"layer1/layer.tar"`), []byte(`7                 `), 1),
		"layer9/layer.tar is not in":                              bytes.Replace(Docker(t, program, all...), []byte(`"layer1/layer.tar"`), []byte(`"layer9/layer.tar"`), 1),
		"layer0/layer.tar: damaged: what is":                      bytes.Replace(Docker(t, program, all...), []byte("first"), []byte("worst"), 1),
		"names 3 layers, and there are 2":                         bytes.Replace(Docker(t, program, all...), []byte(`"layer0/layer.tar",`), []byte(`                   `), 1),
		"sparse: has more than 1073741824 bytes: make an archive": one(unchanged, sparse(t)),
	} {
		require.Error(t, add(rootfs.Tree{}, b), want, "image")
	}
	require.Error(t, add(rootfs.Tree{}, Tar(t, File{Name: "../x"})), "../x: leads out of the root: make the archive again", "tree")
}

// sparse is an archive with a file of two terabytes that are not there.
func sparse(t *testing.T) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "sparse", Mode: 0o644, Typeflag: tar.TypeReg, Size: 1 << 41, Format: tar.FormatGNU}))
	return b.Bytes()
}

// FuzzArchive reads any bytes as an archive or an image. It ends with an error, or with a tree whose files all lie in folders.
func FuzzArchive(f *testing.F) {
	root := Tar(f, File{Name: "bin/"}, File{Name: "bin/x", Data: "x"}, File{Name: "y", To: "bin/x"}, File{Name: "z", To: "=bin/x"})
	var l Layout
	for _, b := range [][]byte{
		root, Gzip(f, root), zstandard(f, root), Docker(f, program, root), l.Tar(f, unchanged, l.Image(f, program, plain, root)),
		[]byte("070701"), nil,
	} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		to := rootfs.Tree{}
		if _, err := to.Archive(b); err != nil {
			return
		}
		wantFolders(t, to)
	})
}

// TestNamesOfBlobs has the files of an image have any names, also that of what removes a file from a layer.
func TestNamesOfBlobs(t *testing.T) {
	b := bytes.ReplaceAll(Docker(t, program, Tar(t, File{Name: "x", Data: "x"})), []byte("layer0/layer.tar"), []byte("layer0/.wh.ayer0"))
	for at := 0; at+512 <= len(b); at += 512 { // sums of the heads with that name
		if bytes.HasPrefix(b[at:], []byte("layer0/.wh.")) {
			copy(b[at+148:], "        ")
			sum := 0
			for _, c := range b[at : at+512] {
				sum += int(c)
			}
			copy(b[at+148:], fmt.Sprintf("%06o\x00 ", sum))
		}
	}
	tree := rootfs.Tree{}
	require.NoError(t, add(tree, b))
	require.Equal(t, names(tree), "x ", "files")
}

// TestLayersReplace has a file, a folder or a link in a layer, and each of them by that name in the layer above. What is above
// stands there, and only two folders are one.
func TestLayersReplace(t *testing.T) {
	kinds := map[uint32]File{rootfs.Regular: {Name: "x", Data: "data"}, rootfs.Folder: {Name: "x/"}, rootfs.Link: {Name: "x", To: "other"}}
	for below, first := range kinds {
		for above, second := range kinds {
			files := []File{{Name: "other/"}, {Name: "other/o", Data: "o"}, first}
			if below == rootfs.Folder {
				files = append(files, File{Name: "x/in", Data: "in"})
			}
			tree := rootfs.Tree{}
			require.NoError(t, require.Err(tree.Archive(Docker(t, program, Tar(t, files...), Tar(t, second)))))
			_, kept := tree["x/in"]
			_, other := tree["other/o"]
			require.That(t, tree["x"].Mode&0o170000 == above && kept == (below == above && above == rootfs.Folder) && other, "%o above %o: %s", above, below, names(tree))
		}
	}
}
