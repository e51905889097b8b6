package sqltable

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
)

// TestKeysOfSQLServer: no collation there compares blanks at the end of a text.
func TestKeysOfSQLServer(t *testing.T) {
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
