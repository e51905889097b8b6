package source

import (
	"database/sql/driver"
	"testing"
	"time"
)

// BenchmarkSQLServerRow encodes one typical row as go-mssqldb returns it.
func BenchmarkSQLServerRow(b *testing.B) {
	r := sqlServerRow{cols: []column{
		sqlServerColumn("id", false, sqlServerType{base: "bigint"}), sqlServerColumn("name", false, sqlServerType{base: "nvarchar", length: 100}),
		sqlServerColumn("amount", false, sqlServerType{base: "decimal", precision: 19, scale: 4}),
		sqlServerColumn("at", false, sqlServerType{base: "datetime2", scale: 7}), sqlServerColumn("guid", false, sqlServerType{base: "uniqueidentifier"}),
	}, values: []any{int64(12093), "Ada Lovelace", []byte("1234.5600"), time.Date(2026, 4, 7, 1, 23, 45, 123456700, time.UTC), make([]byte, 16)}}
	benchmarkRow(b, &r, len(r.cols))
}

// BenchmarkMySQLRow encodes one typical row as go-sql-driver returns it.
func BenchmarkMySQLRow(b *testing.B) {
	r := mySQLRow{values: []driver.Value{int64(12093), []byte("Ada Lovelace"), []byte("1234.5600"), []byte("2026-04-07 01:23:45.123456")}}
	for _, t := range []mySQLType{{data: "bigint"}, {data: "varchar"}, {data: "decimal", scale: 4}, {data: "datetime", scale: 6}} {
		r.cols = append(r.cols, column{value: t.value()})
	}
	benchmarkRow(b, &r, len(r.cols))
}

func benchmarkRow(b *testing.B, r row, columns int) {
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = dst[:0]
		for i := range columns {
			var err error
			if dst, err = r.appendJSON(dst, i); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(int64(len(dst)))
	}
}
