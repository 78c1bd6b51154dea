package formats

import (
	"io"
	"maps"
	"slices"

	"github.com/parquet-go/parquet-go"

	"kprobesim/results"
)

// rowsOfGroup bounds the rows that are in memory while a file is written.
const rowsOfGroup = 1 << 16

// parquetColumn is a column of the long form. Words and numbers of axes may be missing.
type parquetColumn struct {
	node  parquet.Node
	value func(r *results.Record) any // nil for a missing one
}

// WriteParquet writes the long form of a set as Apache Parquet: one row an observation, a column for each swept key. Units
// of swept keys stand in the metadata of the file as "unit:KEY", the unit of a value in its own column.
func WriteParquet(w io.Writer, s *results.Set) error {
	columns := parquetColumns(s)
	group, names := parquet.Group{}, slices.Sorted(maps.Keys(columns)) // a group orders its columns by name
	for name, c := range columns {
		group[name] = c.node
	}
	options := []parquet.WriterOption{parquet.NewSchema("results", group), parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(rowsOfGroup)}
	for _, a := range s.Axes {
		if a.Unit != "" {
			options = append(options, parquet.KeyValueMetadata("unit:"+a.Key, a.Unit))
		}
	}
	out := parquet.NewWriter(w, options...)
	row := make(parquet.Row, len(names))
	for r := range s.All() {
		for i, name := range names {
			v, level := columns[name].value(&r), 0
			if v != nil && columns[name].node.Optional() {
				level = 1
			}
			row[i] = parquet.ValueOf(v).Level(0, level, i)
		}
		if _, err := out.WriteRows([]parquet.Row{row}); err != nil {
			return err
		}
	}
	return out.Close()
}

// parquetColumns are the columns of a set by name.
func parquetColumns(s *results.Set) map[string]parquetColumn {
	word := func(value func(r *results.Record) string) parquetColumn {
		return parquetColumn{parquet.Encoded(parquet.String(), &parquet.RLEDictionary), func(r *results.Record) any { return value(r) }}
	}
	number := func(value func(r *results.Record) int64) parquetColumn {
		return parquetColumn{parquet.Int(64), func(r *results.Record) any { return value(r) }}
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
		"value":      {parquet.Leaf(parquet.DoubleType), func(r *results.Record) any { return r.Value.Float() }},
	}
	for _, a := range s.Axes {
		columns[a.Key] = axisColumn(a, s.Numeric(a))
	}
	return columns
}

// axisColumn is the column of a swept key: numbers where each value is one, else words.
func axisColumn(a results.Axis, numeric bool) parquetColumn {
	node := parquet.Optional(parquet.Encoded(parquet.String(), &parquet.RLEDictionary))
	if numeric {
		node = parquet.Optional(parquet.Leaf(parquet.DoubleType))
	}
	return parquetColumn{node, func(r *results.Record) any {
		cell := a.Cell(r.Point)
		if v, err := results.ParseValue(cell); numeric && err == nil {
			return v.Float()
		}
		if cell == "" {
			return nil
		}
		return cell
	}}
}
