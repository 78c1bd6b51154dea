package formats

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"kprobesim/results"
)

// rowsOfGroup bounds the rows that are in memory while a file is written.
const rowsOfGroup = 1 << 16

// parquetMagic begins and ends a file (Parquet format, File format).
const parquetMagic = "PAR1"

// parquetColumn is a column of the long form: words (format.ByteArray), or numbers (format.Int64, format.Double).
type parquetColumn struct {
	typ      format.Type
	optional bool                        // a value may be missing
	value    func(r *results.Record) any // a string, an int64 or a float64; nil for a missing one
}

// WriteParquet writes the long form of a set as Apache Parquet: one row an observation, a column for each swept key, in the
// order of their names. Units of swept keys stand in the metadata of the file as "unit:KEY", the unit of a value in its own column.
//
// Pages and their encodings are written here, with the library's structures of the format: its writer of rows takes
// a third of the time to build the program.
func WriteParquet(w io.Writer, s *results.Set) error { return writeParquet(w, s, rowsOfGroup) }

func writeParquet(w io.Writer, s *results.Set, most int) error {
	pack, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)) // by more threads, the bytes depend on their number
	if err != nil {
		return err
	}
	columns := parquetColumns(s)
	f := &parquetFile{w: w, pack: pack, columns: columns, names: slices.Sorted(maps.Keys(columns))}
	f.describe(s.Axes)
	f.write([]byte(parquetMagic))
	rows := make([]results.Record, 0, min(most, s.Len()))
	for r := range s.All() {
		if len(rows) == most {
			f.group(rows)
			rows = rows[:0]
		}
		rows = append(rows, r)
	}
	if len(rows) > 0 {
		f.group(rows)
	}
	footer := f.encoded(f.meta)
	f.write(footer)
	f.write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))), parquetMagic...))
	return f.err
}

// parquetFile is a file that is being written.
type parquetFile struct {
	w       io.Writer
	offset  int64 // bytes so far
	err     error // the first one; nothing is written behind it
	pack    *zstd.Encoder
	columns map[string]parquetColumn
	names   []string // of the columns, in their order
	meta    format.FileMetaData
}

// describe fills in the schema, a list of columns below a root, and the units.
func (f *parquetFile) describe(axes []results.Axis) {
	root := format.SchemaElement{Name: "results", NumChildren: thrift.New(int32(len(f.names)))}
	f.meta = format.FileMetaData{Version: 1, Schema: []format.SchemaElement{root}, CreatedBy: "kprobesim"}
	for _, name := range f.names {
		c := f.columns[name]
		e := format.SchemaElement{Name: name, Type: thrift.New(c.typ), RepetitionType: thrift.New(format.Required)}
		if c.optional {
			e.RepetitionType = thrift.New(format.Optional)
		}
		if c.typ == format.ByteArray {
			e.ConvertedType, e.LogicalType.Value = thrift.New(deprecated.UTF8), &format.StringType{}
		}
		f.meta.Schema = append(f.meta.Schema, e)
	}
	for _, a := range axes {
		if a.Unit != "" {
			f.meta.KeyValueMetadata = append(f.meta.KeyValueMetadata, format.KeyValue{Key: "unit:" + a.Key, Value: a.Unit})
		}
	}
}

// group writes a group of rows: for each column its words, each once, and a page of data.
func (f *parquetFile) group(rows []results.Record) {
	g := format.RowGroup{NumRows: int64(len(rows)), FileOffset: f.offset, Ordinal: int16(len(f.meta.RowGroups))}
	for _, name := range f.names {
		m := f.chunk(name, rows)
		g.Columns = append(g.Columns, format.ColumnChunk{MetaData: m})
		g.TotalByteSize += m.TotalUncompressedSize
		g.TotalCompressedSize += m.TotalCompressedSize
	}
	f.meta.RowGroups = append(f.meta.RowGroups, g)
	f.meta.NumRows += g.NumRows
}

// chunk writes what a group of rows has of a column. Words are numbers of a dictionary, and a byte before them has the bits of
// such a number (Parquet format, Encodings, RLE_DICTIONARY). In front of values of which some may be missing stands which are there.
func (f *parquetFile) chunk(name string, rows []results.Record) format.ColumnMetaData {
	var (
		c             = f.columns[name]
		there         = make([]byte, 0, len(rows))
		values, words []byte
		numbers       []int32
		seen          = map[string]int32{}
	)
	for i := range rows {
		switch v := c.value(&rows[i]).(type) {
		case nil:
			there = append(there, 0)
			continue
		case int64:
			values = binary.LittleEndian.AppendUint64(values, uint64(v))
		case float64:
			values = binary.LittleEndian.AppendUint64(values, math.Float64bits(v))
		case string:
			n, ok := seen[v]
			if !ok {
				n = int32(len(seen))
				seen[v] = n
				words = append(binary.LittleEndian.AppendUint32(words, uint32(len(v))), v...)
			}
			numbers = append(numbers, n)
		}
		there = append(there, 1)
	}
	m := format.ColumnMetaData{
		Type: c.typ, Codec: format.Zstd, PathInSchema: []string{name}, NumValues: int64(len(rows)), Encoding: []format.Encoding{format.RLE, format.Plain},
		Statistics: format.Statistics{NullCount: int64(bytes.Count(there, []byte{0}))},
	}
	data := format.DataPageHeader{
		NumValues: int32(len(rows)), Encoding: format.Plain, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE, Statistics: m.Statistics,
	}
	if c.typ == format.ByteArray {
		m.DictionaryPageOffset = f.offset
		f.page(&m, words, format.PageHeader{
			Type:                 format.DictionaryPage,
			DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: int32(len(seen)), Encoding: format.Plain}),
		})
		m.Encoding, data.Encoding = append(m.Encoding, format.RLEDictionary), format.RLEDictionary
		width := max(1, bits.Len(uint(max(0, len(seen)-1))))
		runs, err := (&rle.Encoding{BitWidth: width}).EncodeInt32(nil, numbers)
		f.err = cmp.Or(f.err, err)
		values = append([]byte{byte(width)}, runs...)
	}
	if c.optional {
		runs, err := (&rle.Encoding{BitWidth: 1}).EncodeLevels(nil, there)
		f.err = cmp.Or(f.err, err)
		values = slices.Concat(binary.LittleEndian.AppendUint32(nil, uint32(len(runs))), runs, values)
	}
	m.DataPageOffset = f.offset
	f.page(&m, values, format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(data)})
	return m
}

// page writes a page and counts its bytes, header and all.
func (f *parquetFile) page(m *format.ColumnMetaData, b []byte, h format.PageHeader) {
	packed := f.pack.EncodeAll(b, nil)
	h.UncompressedPageSize, h.CompressedPageSize = int32(len(b)), int32(len(packed))
	header := f.encoded(h)
	f.write(header)
	f.write(packed)
	m.TotalUncompressedSize += int64(len(header) + len(b))
	m.TotalCompressedSize += int64(len(header) + len(packed))
}

// encoded returns a structure of the format as bytes.
func (f *parquetFile) encoded(v any) []byte {
	b, err := thrift.Marshal(&thrift.CompactProtocol{}, v)
	f.err = cmp.Or(f.err, err)
	return b
}

func (f *parquetFile) write(b []byte) {
	if f.err == nil {
		_, f.err = f.w.Write(b)
	}
	f.offset += int64(len(b))
}

// parquetColumns are the columns of a set by name.
func parquetColumns(s *results.Set) map[string]parquetColumn {
	word := func(value func(r *results.Record) string) parquetColumn {
		return parquetColumn{typ: format.ByteArray, value: func(r *results.Record) any { return value(r) }}
	}
	number := func(value func(r *results.Record) int64) parquetColumn {
		return parquetColumn{typ: format.Int64, value: func(r *results.Record) any { return value(r) }}
	}
	columns := map[string]parquetColumn{
		"experiment": word(func(r *results.Record) string { return r.Experiment }),
		"machine":    word(func(r *results.Record) string { return r.Machine }),
		"isa":        word(func(r *results.Record) string { return r.ISA }),
		"era":        word(func(r *results.Record) string { return r.Era }),
		"cpus":       number(func(r *results.Record) int64 { return int64(r.CPUs) }),
		"seed":       number(func(r *results.Record) int64 { return int64(r.Seed) }),
		"replicate":  number(func(r *results.Record) int64 { return int64(r.Replicate) }),
		"probe":      word(func(r *results.Record) string { return r.Name() }),
		"point":      word(func(r *results.Record) string { return r.Probe }),
		"metric":     word(func(r *results.Record) string { return r.Metric }),
		"unit":       word(func(r *results.Record) string { return r.Unit }),
		"role":       word(func(r *results.Record) string { return string(r.Role) }),
		"source":     word(func(r *results.Record) string { return r.Source }),
		"value":      {typ: format.Double, value: func(r *results.Record) any { return r.Value.Float() }},
	}
	for _, a := range s.Axes {
		columns[a.Key] = axisColumn(a, s.Numeric(a))
	}
	return columns
}

// axisColumn is the column of a swept key: numbers where each value is one, else words. Points of other probes lack it.
func axisColumn(a results.Axis, numeric bool) parquetColumn {
	typ := format.ByteArray
	if numeric {
		typ = format.Double
	}
	return parquetColumn{typ: typ, optional: true, value: func(r *results.Record) any {
		cell := a.Cell(r.Point)
		switch v, err := results.ParseValue(cell); {
		case cell == "":
			return nil
		case numeric && err == nil:
			return v.Float()
		}
		return cell
	}}
}
