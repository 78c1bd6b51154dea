package doc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Write writes a table as TOML that Parse reads: tables of scalars in one line where their table has several.
func Write(root *Node) []byte {
	var b strings.Builder
	writeTable(&b, nil, root)
	return []byte(b.String())
}

// writeTable writes the values of a table below its header, and then the tables in it.
func writeTable(b *strings.Builder, path []string, n *Node) {
	inline := len(path) == 1 && slices.ContainsFunc(n.Fields, func(f Field) bool { return f.Value.Kind == Table }) && !deep(n)
	var below []Field
	for _, f := range n.Fields {
		if f.Value.Kind == Table && !inline {
			below = append(below, f)
		}
	}
	if len(path) > 0 && (len(below) == 0 || len(below) < len(n.Fields)) {
		fmt.Fprintf(b, "\n[%s]\n", strings.Join(path, "."))
	}
	for _, f := range n.Fields {
		if f.Value.Kind != Table || inline {
			fmt.Fprintf(b, "%s = %s\n", writeKey(f.Key), writeValue(f.Value))
		}
	}
	for _, f := range below {
		writeTable(b, append(slices.Clone(path), writeKey(f.Key)), f.Value)
	}
}

// deep reports a table with many values, which stands better below a header.
func deep(n *Node) bool {
	const many = 8
	return slices.ContainsFunc(n.Fields, func(f Field) bool { return f.Value.Kind == Table && len(f.Value.Fields) > many })
}

// writeKey quotes a key where TOML wants it.
func writeKey(key string) string {
	bare := strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
	if key == "" || bare != "" {
		return strconv.Quote(key)
	}
	return key
}

// writeValue writes a value in one line.
func writeValue(n *Node) string {
	var parts []string
	switch n.Kind {
	case String:
		return strconv.Quote(n.Text)
	case Array:
		for _, it := range n.Items {
			parts = append(parts, writeValue(it))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case Table:
		for _, f := range n.Fields {
			parts = append(parts, writeKey(f.Key)+" = "+writeValue(f.Value))
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	return n.Text
}
