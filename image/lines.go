package image

import (
	"cmp"
	"debug/dwarf"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"sort"
	"strings"
)

// lineRange says that the code from start up to end comes from one source line.
type lineRange struct {
	start, end uint64
	file       int32 // index into lineTable.files
	line       int32
}

// lineTable maps addresses to source lines. One entry covers all instructions of a row of the line
// program. Names of files are kept once, since thousands of rows share them.
type lineTable struct {
	files  []string
	ranges []lineRange // sorted by start
}

// Line returns the source file and line of an instruction, the file relative to the folder that
// the guest was compiled in. Code that is written at run time, as in slots and detour buffers, has
// no line.
func (im *Image) Line(addr uint64) (file string, line int, ok bool) {
	r := im.lines.ranges
	i := sort.Search(len(r), func(i int) bool { return r[i].start > addr }) - 1
	if i < 0 || addr >= r[i].end {
		return "", 0, false
	}
	return im.lines.files[r[i].file], int(r[i].line), true
}

// LineIn returns the first address from one up to another, excluded, of the code of a source line. The file may be
// named by the end of its path.
func (im *Image) LineIn(file string, line int, from, to uint64) (addr uint64, ok bool) {
	for _, r := range im.lines.ranges {
		name := im.lines.files[r.file]
		if r.start >= from && r.start < to && int(r.line) == line && (name == file || strings.HasSuffix(name, "/"+file)) {
			return r.start, true
		}
	}
	return 0, false
}

// lineReader collects the line programs of all compilation units.
type lineReader struct {
	im    *Image
	files map[string]int32
	table lineTable
}

// loadLines reads the line programs of the units that typeLoader has found. Line programs lie
// in section .debug_line (DWARF 5, section 6.2); package debug/dwarf executes them. The sort is
// stable, so that rows for one address keep the order of the file.
func (im *Image) loadLines(d *dwarf.Data, units []*dwarf.Entry) error {
	lr := &lineReader{im: im, files: map[string]int32{}}
	for _, cu := range units {
		if err := lr.unit(d, cu); err != nil {
			name, _ := cu.Val(dwarf.AttrName).(string)
			return fmt.Errorf("damaged line table of %q (%w): build the image again", name, err)
		}
	}
	slices.SortStableFunc(lr.table.ranges, func(a, b lineRange) int {
		return cmp.Compare(a.start, b.start)
	})
	im.lines = lr.table
	return nil
}

// unit adds the rows of one compilation unit. A row holds up to the address of the next one. The row
// that ends a sequence names the first address behind it and no line (end_sequence, section 6.2.2).
func (lr *lineReader) unit(d *dwarf.Data, cu *dwarf.Entry) error {
	r, err := d.LineReader(cu)
	if err != nil || r == nil {
		return err
	}
	dir, _ := cu.Val(dwarf.AttrCompDir).(string)
	var prev, row dwarf.LineEntry
	open := false // prev starts a range
	for {
		err := r.Next(&row)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if open {
			lr.add(&prev, row.Address, dir)
		}
		prev, open = row, !row.EndSequence
	}
}

// add notes that the code from row.Address up to end is row's line. Sequences for code that the
// linker dropped have addresses outside of every section. Column, statement and prologue marks are
// not kept: traces and profiles show lines.
func (lr *lineReader) add(row *dwarf.LineEntry, end uint64, dir string) {
	if end <= row.Address || row.File == nil || row.Line < 0 || row.Line > 1<<30 {
		return
	}
	if s := lr.im.sectionAt(row.Address); s == nil || !s.exec {
		return
	}
	lr.table.ranges = append(lr.table.ranges, lineRange{
		row.Address, end, lr.file(sourcePath(row.File.Name, dir)), int32(row.Line),
	})
}

// file returns the number of a file name.
func (lr *lineReader) file(name string) int32 {
	n, ok := lr.files[name]
	if !ok {
		n = int32(len(lr.table.files))
		lr.files[name] = n
		lr.table.files = append(lr.table.files, name)
	}
	return n
}

// sourcePath makes a file name relative to the folder that the compiler ran in. Absolute paths would
// make profiles depend on where the guest was built.
func sourcePath(name, dir string) string {
	name = path.Clean(name)
	if dir != "" {
		name = strings.TrimPrefix(name, path.Clean(dir)+"/")
	}
	return name
}
