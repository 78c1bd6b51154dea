package rootfs_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
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
	require.Error(t, add(rootfs.Tree{}, []byte("nothing")), "is neither a folder nor an archive", "tree")
	require.Error(t, add(rootfs.Tree{}, want[:len(want)-300]), "cpio archive is cut off", "tree")
	damaged := bytes.Clone(want)
	damaged[54] = 'x'
	require.Error(t, add(rootfs.Tree{}, damaged), "damaged at byte 0", "tree")
}
