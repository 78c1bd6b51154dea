// Command notebook runs the lines of a notebook by DuckDB and prints the table that the last one makes. It is a module of its own, so
// that the program does not depend on DuckDB.
package main

import (
	"database/sql"
	"encoding/csv"
	"fmt"
	"os"

	_ "github.com/duckdb/duckdb-go/v2"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "notebook:", err)
		os.Exit(1)
	}
}

// run queries what a file of SQL asks for.
func run(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	rows, err := db.Query(string(text))
	if err != nil {
		return err
	}
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	out := csv.NewWriter(os.Stdout)
	err = out.Write(columns)
	for err == nil && rows.Next() {
		err = write(out, rows, len(columns))
	}
	out.Flush()
	if err == nil {
		err = rows.Err()
	}
	return err
}

// write prints a row.
func write(out *csv.Writer, rows *sql.Rows, n int) error {
	values, places, texts := make([]any, n), make([]any, n), make([]string, n)
	for i := range values {
		places[i] = &values[i]
	}
	if err := rows.Scan(places...); err != nil {
		return err
	}
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	return out.Write(texts)
}
