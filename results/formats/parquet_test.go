package formats

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/resultstest"
)

// TestParquet reads back what was written, in one group of rows and in several: typed columns, missing values, units in the metadata, and the
// same bytes again. `make notebook` has DuckDB read a file.
func TestParquet(t *testing.T) {
	s := &results.Set{}
	s.AddAxis(results.Axis{Key: "kernel.memory", Unit: "B", Cells: map[string]string{"16 MiB": "16777216"}})
	s.AddAxis(results.Axis{Key: "workload.target"})
	want := ""
	for i := 1; i <= 20; i++ {
		name, cells := fmt.Sprint("b", i), "<nil> <nil>"
		if i%9 == 1 {
			name, cells = fmt.Sprintf("k%d/kernel.memory=16 MiB/workload.target=work", i), "1.6777216e+07 work"
		}
		at := results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: i, Seed: 7, Probe: name}
		require.NoError(t, s.Add(results.Record{Point: at, Metric: "cycles_per_hit", Unit: "cycles", Value: resultstest.Value(t, "5.25"), Role: results.Simulated}))
		want += fmt.Sprintln(cells, 5.25, i, strings.Split(name, "/")[0])
	}
	for _, most := range []int{rowsOfGroup, 20, 19, 1} {
		var b, again bytes.Buffer
		require.NoError(t, writeParquet(&b, s, most))
		require.NoError(t, writeParquet(&again, s, most))
		require.That(t, bytes.Equal(b.Bytes(), again.Bytes()), "the same set has other bytes")
		columns, meta := readParquet(t, b.Bytes())
		require.Equal(t, fmt.Sprint(meta.KeyValueMetadata), "[{unit:kernel.memory B}]", "metadata")
		got := ""
		for i := range columns["value"] {
			got += fmt.Sprintln(columns["kernel.memory"][i], columns["workload.target"][i], columns["value"][i], columns["cpus"][i], columns["probe"][i])
		}
		require.Equal(t, got, want, "rows")
	}
	var none bytes.Buffer
	require.NoError(t, WriteParquet(&none, &results.Set{}))
	_, meta := readParquet(t, none.Bytes())
	require.Equal(t, fmt.Sprint(meta.NumRows, len(meta.RowGroups), len(meta.Schema)), "0 0 15", "a set without records")
	for at := range none.Len() {
		require.That(t, WriteParquet(&smallDisk{left: at}, &results.Set{}) != nil, "a disk of %d bytes takes the file", at)
	}
}

// smallDisk refuses what does not fit.
type smallDisk struct{ left int }

func (d *smallDisk) Write(b []byte) (int, error) {
	if d.left -= len(b); d.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}

// readParquet returns the columns of a file, nil for a value that is missing, and what its end says. Sizes and counts must be right.
func readParquet(t *testing.T, b []byte) (map[string][]any, format.FileMetaData) {
	var meta format.FileMetaData
	end := len(b) - 8
	start := end - int(binary.LittleEndian.Uint32(b[end:]))
	require.That(t, string(b[:4])+string(b[end+4:]) == "PAR1PAR1", "no file of Parquet")
	require.NoError(t, thrift.Unmarshal(&thrift.CompactProtocol{}, b[start:end], &meta))
	columns, unpack, rows := map[string][]any{}, require.Must(zstd.NewReader(nil))(t), int64(0)
	at := int64(4) // the bytes of all pages follow each other
	page := func(size, unpacked *int64) (format.PageHeader, []byte) {
		var h format.PageHeader
		in := bytes.NewReader(b[at:])
		require.NoError(t, thrift.NewDecoder((&thrift.CompactProtocol{}).NewReader(in)).Decode(&h))
		header := in.Size() - int64(in.Len())
		from := at + header
		at = from + int64(h.CompressedPageSize)
		data := require.Must(unpack.DecodeAll(b[from:at], nil))(t)
		require.Equal(t, len(data), int(h.UncompressedPageSize), "size of a page")
		*size, *unpacked = *size+at-from+header, *unpacked+int64(len(data))+header
		return h, data
	}
	for _, g := range meta.RowGroups {
		require.Equal(t, g.FileOffset, at, "place of a group of rows")
		for i, c := range g.Columns {
			m, e := c.MetaData, meta.Schema[i+1]
			require.Equal(t, m.PathInSchema[0], e.Name, "name")
			var size, unpacked int64
			var words []string
			if e.Type.V == format.ByteArray {
				require.Equal(t, m.DictionaryPageOffset, at, "place of the words")
				_, data := page(&size, &unpacked)
				for len(data) > 0 {
					n := 4 + binary.LittleEndian.Uint32(data)
					words, data = append(words, string(data[4:n])), data[n:]
				}
			}
			require.Equal(t, m.DataPageOffset, at, "place of the data")
			h, data := page(&size, &unpacked)
			require.Equal(t, [2]int64{m.TotalCompressedSize, m.TotalUncompressedSize}, [2]int64{size, unpacked}, "sizes of a column")
			there := bytes.Repeat([]byte{1}, int(h.DataPageHeader.V.NumValues))
			if e.RepetitionType.V == format.Optional {
				n := 4 + binary.LittleEndian.Uint32(data)
				there, data = require.Must((&rle.Encoding{BitWidth: 1}).DecodeLevels(nil, data[4:n]))(t), data[n:]
			}
			columns[e.Name] = append(columns[e.Name], valuesOf(t, there[:g.NumRows], data, e.Type.V, words)...)
			require.Equal(t, m.Statistics.NullCount, int64(bytes.Count(there[:g.NumRows], []byte{0})), "missing values")
		}
		rows += g.NumRows
	}
	require.Equal(t, meta.NumRows, rows, "rows")
	return columns, meta
}

// valuesOf decodes a page of data.
func valuesOf(t *testing.T, there, data []byte, typ format.Type, words []string) (values []any) {
	var numbers []int32
	if typ == format.ByteArray {
		numbers = require.Must((&rle.Encoding{BitWidth: int(data[0])}).DecodeInt32(nil, data[1:]))(t)
	}
	for _, is := range there {
		switch {
		case is == 0:
			values = append(values, nil)
		case typ == format.ByteArray:
			values, numbers = append(values, words[numbers[0]]), numbers[1:]
		default:
			v := binary.LittleEndian.Uint64(data)
			data = data[8:]
			if values = append(values, int64(v)); typ == format.Double {
				values[len(values)-1] = math.Float64frombits(v)
			}
		}
	}
	return values
}
