package publisher

import (
	"path/filepath"
	"testing"

	"github.com/rowrelay/rowrelay/engine/statement/statementtest"
	"github.com/rowrelay/rowrelay/internal/golden"
)

// TestGoldenMappedDDL pins what `rowrelay outbox init --beside` prints.
func TestGoldenMappedDDL(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"postgres", "mysql", "sqlserver", "sqlite"} {
		ddl, err := MappedDDL(engine, "shop.outbox", "rowrelay_claims")
		if err != nil {
			t.Fatal(err)
		}
		d := &statementtest.Script{T: t, Engine: engine}
		for _, text := range ddl {
			d.WriteString(text + ";\n")
			d.Parse(text)
		}
		golden.Pin(t, filepath.Join(engine, "mapped_ddl.sql"), d.String())
	}
}
