package doc

// Merge returns base with what over says instead or in addition: tables are merged key by key, lists
// of tables element by element where they have the same name, everything else is replaced. A table of
// over that names a source replaces the whole table, because the source vouches for all of it.
func Merge(base, over *Node) *Node {
	switch {
	case base.Kind == Table && over.Kind == Table && over.Get("source") == nil:
		return mergeTables(base, over)
	case isTables(base) && isTables(over):
		return mergeLists(base, over)
	}
	return over.Clone()
}

// mergeTables keeps the order of base and puts new keys behind. What over says keeps its
// positions, so that a mistake is reported in the file that made it.
func mergeTables(base, over *Node) *Node {
	out := base.Clone()
	out.Pos = over.Pos
	for _, f := range over.Fields {
		old := out.Get(f.Key)
		if old == nil {
			out.Fields = append(out.Fields, Field{f.Key, f.Pos, f.Value.Clone()})
			continue
		}
		out.put(f.Key, Merge(old, f.Value))
	}
	return out
}

// isTables reports whether n is a list of tables.
func isTables(n *Node) bool {
	return n.Kind == Array && len(n.Items) > 0 && n.Items[0].Kind == Table
}

// mergeLists compares names and never indices: an element without a name is always a further one.
func mergeLists(base, over *Node) *Node {
	out := base.Clone()
	for i, it := range over.Items {
		name := elementName(it, i)
		at := -1
		for j, old := range out.Items {
			if it.Get("name") != nil && elementName(old, j) == name {
				at = j
			}
		}
		if at < 0 {
			out.Items = append(out.Items, it.Clone())
		} else {
			out.Items[at] = Merge(out.Items[at], it)
		}
	}
	return out
}
