package sqltable

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
)

// TestTicksOfSQLServer: datetime holds 1/300 s, and smalldatetime minutes.
func TestTicksOfSQLServer(t *testing.T) {
	t.Parallel()
	c, err := engines.Parse("sqlserver://u:p@127.0.0.1?database=shop")
	if err != nil {
		t.Fatal(err)
	}
	o, err := New(Config{Connection: c, Table: "dbo.copies", Sender: "shop/orders"})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close() //nolint:errcheck // nothing was opened
	for _, c := range []struct {
		base, key string
		kept      bool
	}{
		{"datetime", "2026-01-01T00:00:00", true}, {"datetime", "2026-01-01T00:00:00.997", true},
		{"datetime", "2026-01-01T02:00:00.0030+02:00", true}, {"datetime", "2026-01-01", true},
		{"datetime", "2026-01-01T00:00:00.004", false}, {"datetime", "2026-01-01T00:00:00.9971Z", false},
		{"smalldatetime", "2026-01-01T00:01:00.000Z", true}, {"smalldatetime", "2026-01-01T00:01:01", false},
		{"datetime2", "2026-01-01T00:00:00.0001234", true},
	} {
		typ := sqlserver.Type{Base: c.base, Scale: 7}
		table := &engine.Table{Columns: []engine.Column{{Name: "at", Type: typ.Full(), Value: typ.Value()}}}
		err := o.take(table, &row{}, []byte(`{"at":"`+c.key+`"}`), true)
		if (err == nil) != c.kept {
			t.Errorf("%s %s: %v", c.base, c.key, err)
		}
	}
}

// TestKeysOfSQLServer: no collation there compares blanks at the end of a text.
func TestKeysOfSQLServer(t *testing.T) {
	t.Parallel()
	c, err := engines.Parse("sqlserver://u:p@127.0.0.1?database=shop")
	if err != nil {
		t.Fatal(err)
	}
	o, err := New(Config{Connection: c, Table: "dbo.copies", Sender: "shop/orders"})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close() //nolint:errcheck // nothing was opened
	table := &engine.Table{Columns: []engine.Column{
		{Name: "id", Type: "varchar(40)", Value: engine.Value{Kind: engine.KindText}}}}
	distinct := func(collation, text string) error {
		table.Columns[0].Collation = collation
		return o.distinct(table, &row{names: []string{"id"}, values: []any{text}})
	}
	for _, text := range []string{"A", "a", "é"} {
		if err := distinct("", text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := distinct("", "a "); !errors.As(err, new(rowFault)) {
		t.Error(err)
	}
	for _, text := range []string{"a-1", "42"} {
		if err := distinct("SQL_Latin1_General_CP1_CI_AS", text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	want := "ALTER TABLE [dbo].[copies] ALTER COLUMN [id] nvarchar(40) COLLATE Latin1_General_100_BIN2 NOT NULL"
	for collation, text := range map[string]string{"SQL_Latin1_General_CP1_CI_AS": "A", "Finnish_Swedish_CI_AS": "v"} {
		if err := distinct(collation, text); !errors.Is(err, change.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	text := o.propose("sqlserver", table.Columns, table.Columns)
	if !strings.Contains(text, "[id] nvarchar(40) COLLATE Latin1_General_100_BIN2 NOT NULL") {
		t.Error(text)
	}
}
