package rootfs_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"path"
	"testing"

	"kprobesim/distro"
	"kprobesim/distro/rootfs"
	"kprobesim/internal/require"
)

func tree() rootfs.Tree {
	t := rootfs.Tree{}
	for _, f := range []distro.File{
		{Name: "usr/bin", Mode: distro.ModeFolder},
		{Name: "bin", Mode: rootfs.Link | 0o777, Data: []byte("usr/bin")},
		{Name: "bin/tool", Mode: distro.ModeProgram, Data: []byte("#!/bin/sh\n")},
		{Name: "bin/sh", Mode: rootfs.Link | 0o777, Data: []byte("/usr/bin/dash")},
		{Name: "/bin/dash", Mode: distro.ModeProgram, Data: []byte("dash")},
		{Name: "etc/other", Mode: distro.ModeFile, Data: []byte("other")},
	} {
		t.Put(f)
	}
	return t
}

// names lists the files of a tree.
func names(t rootfs.Tree) (out string) {
	for _, f := range t.Files() {
		out += f.Name + " "
	}
	return out
}

// TestTree follows links to where files lie, and takes a program with what it needs.
func TestTree(t *testing.T) {
	all := tree()
	require.Equal(t, names(all), "bin etc etc/other usr usr/bin usr/bin/dash usr/bin/sh usr/bin/tool ", "files")
	only, err := all.Only([]string{"/bin/tool"})
	if got := names(only); err != nil || got != "bin usr usr/bin usr/bin/dash usr/bin/sh usr/bin/tool " {
		t.Errorf("%v; files %s", err, got)
	}
	require.NoError(t, all.Executable("/bin/sh"))
	require.Error(t, all.Executable("/bin/none"), "the root has no file /bin/none", "tree")
	require.Error(t, all.Executable("/etc/other"), "is not a file that can be executed", "tree")
	require.Error(t, require.Err(all.Only([]string{"none"})), "the root has no file none", "tree")
	for name, want := range map[string]string{"/bin/sh": "/usr/bin/dash", "bin/../bin/dash": "/usr/bin/dash", "dash": "/usr/bin/dash", "etc": "", "none": "", "other": ""} {
		at, data, err := all.Program(name)
		require.That(t, at == want && (err == nil) == (want != "") && (err != nil || string(data) == "dash"), "%s is %q, %q, %v", name, at, data, err)
	}
	all.Put(distro.File{Name: "round", Mode: rootfs.Link | 0o777, Data: []byte("round")})
	if f, ok := all.Find("round"); ok {
		t.Errorf("a link to itself is %v", f)
	}
}

// TestFolders puts files behind links whose folders come later, below files, and in place of folders.
func TestFolders(t *testing.T) {
	all := rootfs.Tree{}
	for _, f := range []distro.File{
		{Name: "lib", Mode: rootfs.Link | 0o777, Data: []byte("usr/lib")},
		{Name: "lib/x/a", Mode: distro.ModeFile},
		{Name: "file", Mode: distro.ModeFile},
		{Name: "file/b", Mode: distro.ModeFile},
		{Name: "usr/top", Mode: rootfs.Link | 0o777, Data: []byte("..")},
		{Name: "usr/top/c", Mode: distro.ModeFile},
		{Name: "round", Mode: rootfs.Link | 0o777, Data: []byte("round")},
		{Name: "round/d", Mode: distro.ModeFile},
		{Name: "old/deep/e", Mode: distro.ModeFile},
		{Name: "old", Mode: distro.ModeFile},
	} {
		all.Put(f)
	}
	require.Equal(t, names(all), "c file file/b lib old round round/d usr usr/lib usr/lib/x usr/lib/x/a usr/top ", "files")
	f, ok := all.Find("usr/top")
	require.That(t, ok && f.Mode == distro.ModeFolder, "the root behind a link is %v, %v", f, ok)
	wantFolders(t, all)
}

// wantFolders wants a folder around each file.
func wantFolders(t *testing.T, all rootfs.Tree) {
	t.Helper()
	for _, f := range all.Files() {
		dir := path.Dir(f.Name)
		require.That(t, dir == "." || all[dir].Mode&^0o7777 == rootfs.Folder, "%q lies in %q, which is %o", f.Name, dir, all[dir].Mode)
	}
}

// add adds an archive to a tree.
func add(to rootfs.Tree, b []byte) error { return require.Err(to.Archive(b)) }

// TestArchive reads the same files out of archives of both kinds.
func TestArchive(t *testing.T) {
	want := distro.Initrd(tree().Files())
	again := rootfs.Tree{}
	require.NoError(t, add(again, want))
	if !bytes.Equal(distro.Initrd(again.Files()), want) {
		t.Errorf("cpio: files %s", names(again))
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range tree().Files() {
		h := &tar.Header{Name: "./" + f.Name, Mode: int64(f.Mode & 0o777), Typeflag: tar.TypeReg, Size: int64(len(f.Data))}
		switch f.Mode &^ 0o7777 {
		case rootfs.Folder:
			h.Typeflag = tar.TypeDir
		case rootfs.Link:
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, string(f.Data), 0
		}
		require.NoError(t, w.WriteHeader(h))
		if h.Size > 0 {
			_, err := w.Write(f.Data)
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	packed := rootfs.Tree{}
	require.NoError(t, add(packed, b.Bytes()))
	if !bytes.Equal(distro.Initrd(packed.Files()), want) {
		t.Errorf("tar: files %s", names(packed))
	}
	// A file hi with the text hi, by `tar -c hi | xz -9`.
	hi := require.Must(base64.StdEncoding.DecodeString("/Td6WFoAAATm1rRGAgAhARwAAAAQz1jM4Cf/AGNdADQaPBugolE3r8EVax9GfEPc4Edp1QXAqFn5wAWhbQ0GlmAC64Q0mn+7PGFhlb1pTmoZr5Ak06OJThYUVz0I" +
		"5sTe0nw3gQGsV15WQd/7zuWxd0WRP/10URRpR/mvNhDcmVjeAAAAldedeYTvHHAAAX+AUAAAAPnUykOxxGf7AgAAAAAEWVo="))(t)
	packed = rootfs.Tree{}
	require.NoError(t, add(packed, hi))
	require.Equal(t, string(packed["hi"].Data), "hi", "a file packed by xz")
	require.Error(t, add(rootfs.Tree{}, hi[:40]), "damaged", "cut")
	require.Error(t, add(rootfs.Tree{}, hi[:100]), "damaged", "cut")
	require.Error(t, add(rootfs.Tree{}, []byte("nothing")), "is neither a folder nor an archive", "tree")
	require.Error(t, add(rootfs.Tree{}, want[:len(want)-300]), "cpio archive is cut off", "tree")
	linked := bytes.Clone(want) // files whose numbers have 32 bits are several
	magic := bytes.Clone(want[:6])
	for at, n := 0, 0; bytes.Contains(linked[at:], magic); n++ {
		at += bytes.Index(linked[at:], magic) + len(magic)
		copy(linked[at:], fmt.Sprintf("ffffff%02x", n)) // the number, and of names below
		copy(linked[at+4*8:], "00000002")
	}
	again = rootfs.Tree{}
	require.NoError(t, add(again, linked))
	require.That(t, bytes.Equal(distro.Initrd(again.Files()), want), "numbers of 32 bits: files %s", names(again))
	damaged := bytes.Clone(want)
	damaged[54] = 'x'
	require.Error(t, add(rootfs.Tree{}, damaged), "damaged at byte 0", "tree")
}

// TestPutOver puts each kind of file in the place of each: folders and links to them stay when the other one comes, and a folder goes with
// all that it has when a file does.
func TestPutOver(t *testing.T) {
	kinds := map[string]distro.File{
		"file": {Mode: distro.ModeProgram, Data: []byte("new")}, "folder": {Mode: distro.ModeFolder}, "link": {Mode: rootfs.Link | 0o777, Data: []byte("other")},
	}
	for old, first := range kinds {
		for now, second := range kinds {
			all := rootfs.Tree{}
			first.Name, second.Name = "at", "/at/"
			all.Put(distro.File{Name: "other", Mode: distro.ModeFolder})
			all.Put(first)
			if old == "folder" {
				all.Put(distro.File{Name: "at/in", Mode: distro.ModeFile})
			}
			second.Mode--
			all.Put(second)
			stays := old == "folder" && now == "link" || old == "link" && now == "folder"
			want := second.Mode
			if stays {
				want = first.Mode
			}
			_, in := all["at/in"]
			require.That(t, all["at"].Mode == want && in == (old == "folder" && now != "file") && all["at"].Name == "at", "a %s over a %s: %+v, %s", now, old, all["at"], names(all))
		}
	}
	all := tree()
	before := names(all)
	for _, name := range []string{"", "/", ".", "../.."} {
		all.Put(distro.File{Name: name, Mode: distro.ModeFile})
	}
	require.Equal(t, names(all), before, "files behind a file that is the root")
}

// TestOnlyScripts takes what scripts name, also those that name each other, and nothing that they do not.
func TestOnlyScripts(t *testing.T) {
	all := rootfs.Tree{}
	for name, text := range map[string]string{"a": "#!/b -x\nmore", "b": "#! /c/d\n", "c/d": "#!/a", "empty": "#!\n", "blank": "#!  \n", "lost": "#!/none\n", "plain": "text /a\n#!/a\n", "c/e": ""} {
		all.Put(distro.File{Name: name, Mode: distro.ModeProgram, Data: []byte(text)})
	}
	for name, want := range map[string]string{"a": "a b c c/d ", "c/d": "a b c c/d ", "empty": "empty ", "blank": "blank ", "plain": "plain ", "c": "a b c c/d c/e "} {
		only := require.Must(all.Only([]string{name}))(t)
		require.Equal(t, names(only), want, "what %s needs", name)
	}
	require.Error(t, require.Err(all.Only([]string{"plain", "lost"})), "the root has no file /none", "a script of nothing")
}

// TestHardLinks reads files of several names, of which the last one alone has the content.
func TestHardLinks(t *testing.T) {
	var b bytes.Buffer
	put := func(inode, mode, links int, name, data string) {
		fmt.Fprintf(&b, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00", inode, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(name)+1, 0, name)
		b.Write(make([]byte, -b.Len()&3))
		b.WriteString(data)
		b.Write(make([]byte, -b.Len()&3))
	}
	put(5, rootfs.Regular, 2, "a", "")
	put(6, rootfs.Regular, 2, "other", "")
	put(5, rootfs.Regular, 2, "b", "of two")
	put(7, rootfs.Link, 2, "link", "a")
	put(7, rootfs.Link, 2, "link2", "b")
	put(8, rootfs.Regular, 1, "c", "one")
	put(8, rootfs.Regular, 1, "d", "its inode is used again")
	put(0, 0, 0, "TRAILER!!!", "")
	read := rootfs.Tree{}
	require.NoError(t, add(read, b.Bytes()))
	for name, want := range map[string]string{"a": "of two", "b": "of two", "other": "", "link": "a", "link2": "b", "c": "one", "d": "its inode is used again"} {
		require.Equal(t, string(read[name].Data), want, "%s has", name)
	}
}

// TestManyLinks puts a file behind as many links as a kernel follows, and behind one more, in whose place a folder comes.
func TestManyLinks(t *testing.T) {
	const most = 40
	for links, want := range map[int]string{most: "folder/file", most + 1: fmt.Sprintf("l%d/file", most)} {
		tree := rootfs.Tree{}
		for i := range links {
			to := fmt.Sprintf("l%d", i+1)
			if i == links-1 {
				to = "folder"
			}
			name := fmt.Sprintf("l%d", i)
			tree[name] = distro.File{Name: name, Mode: rootfs.Link, Data: []byte(to)}
		}
		tree.Put(distro.File{Name: "l0/file", Mode: rootfs.Regular})
		_, there := tree[want]
		require.That(t, there, "behind %d links there is no %s", links, want)
	}
}
