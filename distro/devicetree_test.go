package distro

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// madeTree is a tree of a board with two clusters of CPUs.
func madeTree() *treeNode {
	node := func(name string, children ...*treeNode) *treeNode { return &treeNode{name: name, children: children} }
	cpu := func(name string, number uint32) *treeNode {
		n := node(name)
		n.set("device_type", []byte("cpu\x00"))
		n.set("reg", words(number))
		return n
	}
	missing, there := node("clock@10"), node("clock@20")
	missing.set("compatible", []byte("made,clock\x00made\x00"))
	there.set("compatible", []byte("made,clock\x00"))
	root := node("", node("chosen"), node("memory@80000000"), node("bus", missing, there),
		node("cpus", cpu("cpu@0", 0), cpu("cpu@1", 1), cpu("cpu@2", 0x100), node("idle-states")))
	root.set("odd", []byte{1, 2, 3})
	root.set("#address-cells", words(2))
	return root
}

func TestTree(t *testing.T) {
	b := flatten(madeTree())
	be := binary.BigEndian
	require.Equal(t, be.Uint32(b[4:]), uint32(len(b)), "the size in the header")
	require.Equal(t, be.Uint32(b[12:])+be.Uint32(b[32:]), uint32(len(b)), "the end of the names")
	require.Equal(t, be.Uint32(b[8:])+be.Uint32(b[36:]), be.Uint32(b[12:]), "the end of the structure")
	root := require.Must(readTree(b))(t)
	require.That(t, bytes.Equal(root.get("odd"), []byte{1, 2, 3}) && root.get("even") == nil, "%x", root.get("odd"))
	require.That(t, bytes.Equal(flatten(root), b), "it is another one when it is read and written")
}

// TestTreeRefuses damages a tree. Every beginning of it, and every byte that is another, is an error or a tree.
func TestTreeRefuses(t *testing.T) {
	b := flatten(madeTree())
	for n := range len(b) - len("compatible") - 1 {
		if _, err := readTree(b[:n]); err == nil && n < int(binary.BigEndian.Uint32(b[12:])) {
			t.Errorf("the first %d bytes of %d are a tree", n, len(b))
		}
	}
	for i := range b {
		for _, v := range []byte{0, 1, 2, 3, 9, 0x7f, 0x80, 0xff} {
			c := slices.Clone(b)
			c[i] = v
			if root, err := readTree(c); err == nil {
				flatten(root)
			}
		}
	}
	deep := &treeNode{}
	for range deepestTree + 2 {
		deep = &treeNode{children: []*treeNode{deep}}
	}
	_, err := readTree(flatten(deep))
	require.Error(t, err, "device tree: damaged", "a deep tree")
}

// described is a board without its first clock, and without real hardware.
type described struct{ Described }

func (described) Memory() (base, most uint64) { return 1 << 31, 1 << 30 }

func (described) Lacks(node string, compatible []string) bool {
	return node == "clock@10" && slices.Contains(compatible, "made")
}

// TestBoardTree holds what a boot loader writes into a tree.
func TestBoardTree(t *testing.T) {
	c := Config{Tree: flatten(madeTree()), RAM: 64 << 20, Command: "hello", CPU: cpus.Config{Processor: map[string]uint64{"cluster": 1}}}
	root := require.Must(readTree(require.Must(c.boardTree(described{}, 0x3000000, 0x500))(t)))(t)
	chosen := root.child("chosen")
	for name, x := range map[string]struct{ got, want []byte }{
		"memory":       {root.child("memory").get("reg"), words(0, 1<<31, 0, 64<<20)},
		"parameters":   {chosen.get("bootargs"), []byte("hello\x00")},
		"its start":    {chosen.get("linux,initrd-start"), words(0x83000000)},
		"its end":      {chosen.get("linux,initrd-end"), words(0x83000500)},
		"what lacks":   {root.child("bus").children[0].get("status"), []byte("disabled\x00")},
		"what is here": {root.child("bus").children[1].get("status"), nil},
	} {
		require.That(t, bytes.Equal(x.got, x.want), "%s: %x, want %x", name, x.got, x.want)
	}
	var left []string
	for _, n := range root.child("cpus").children {
		left = append(left, n.name)
	}
	require.Equal(t, strings.Join(left, " "), "cpu@2 idle-states", "the CPUs that are left")
	c.CPUs = 2
	require.Error(t, require.Err(c.boardTree(described{}, 0, 0)), "2 CPUs: the device tree has 1", "two CPUs in a cluster of one")
	c.CPUs = 1
	plain := require.Must(readTree(require.Must(c.boardTree(described{}, 0, 0))(t)))(t)
	require.That(t, plain.child("chosen").get("linux,initrd-start") == nil, "a tree names an initial file system that is not there")
}
