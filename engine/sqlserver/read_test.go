package sqlserver

import (
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/enginetest"
)

// BenchmarkSQLServerRow encodes one typical row as go-mssqldb returns it.
func BenchmarkSQLServerRow(b *testing.B) {
	r := sqlRow{cols: []engine.Column{
		columnOf("id", false, Type{Base: "bigint"}), columnOf("name", false, Type{Base: "nvarchar", Length: 100}),
		columnOf("amount", false, Type{Base: "decimal", Precision: 19, Scale: 4}),
		columnOf("at", false, Type{Base: "datetime2", Scale: 7}), columnOf("guid", false, Type{Base: "uniqueidentifier"}),
	}, values: []any{int64(12093), "Ada Lovelace", []byte("1234.5600"),
		time.Date(2026, 4, 7, 1, 23, 45, 123456700, time.UTC), make([]byte, 16)}}
	enginetest.Encode(b, &r, len(r.cols))
}
