package production

import (
	"os"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/inspect"
)

func TestOutboxItems(t *testing.T) { try(t, outboxCases()) }

func outboxCases() []verdictCase {
	outbox := []string{outboxMode}
	engineName := func(name string, rowVersions bool) func(*inspect.App, *inspect.Poller) {
		return func(_ *inspect.App, p *inspect.Poller) { p.Engine, p.Rights.RowVersions = name, rowVersions }
	}
	vacuums := func(text string) func(*inspect.App, *inspect.Poller) {
		return func(_ *inspect.App, p *inspect.Poller) { p.Rights.Vacuums = text }
	}
	untold := func(_ *inspect.App, p *inspect.Poller) {
		p.Rights, p.Broken = engine.Rights{}, "the outbox has a fault: see settings"
	}
	missing := func(_ *inspect.App, p *inspect.Poller) { p.CleanupErr = os.ErrNotExist }
	return []verdictCase{
		{"outbox-strategy", nil, nil, NoMatter, ""},
		{"outbox-strategy", outbox, nil, OK, "partitioned on own columns"},
		{"outbox-strategy", outbox, both(untold, func(_ *inspect.App, p *inspect.Poller) { p.Outbox = nil }), CannotTell,
			"has a fault"},
		{"outbox-strategy", outbox, func(_ *inspect.App, p *inspect.Poller) {
			p.Outbox.Unsuited = []string{"8 partitions are in force"}
		}, ToMend, "in force"},
		{"outbox-snapshot", nil, nil, NoMatter, ""},
		{"outbox-snapshot", outbox, nil, NoMatter, "postgres reads row versions anyway"},
		{"outbox-snapshot", outbox, engineName("sqlserver", true), OK, "ON"},
		{"outbox-snapshot", outbox, engineName("sqlserver", false), ToMend, "OFF"},
		{"outbox-snapshot", outbox, both(untold, func(_ *inspect.App, p *inspect.Poller) { p.Engine = "sqlserver" }),
			CannotTell, "has a fault"},
		{"outbox-cleanup", nil, nil, NoMatter, ""},
		{"outbox-cleanup", outbox, nil, OK, "more than"},
		{"outbox-cleanup", []string{outboxMode, "pollers__orders__source__cleanup_schedule=none"}, nil, ToMend, "none"},
		{"outbox-cleanup", outbox, both(hosted, missing), ToMend, "orders_cleanup"},
		{"outbox-cleanup", outbox, missing, OK, ""}, // `rowrelay run` reads no function.json
		{"outbox-vacuum", nil, nil, NoMatter, ""},
		{"outbox-vacuum", outbox, engineName("mysql", false), NoMatter, "mysql has no autovacuum"},
		{"outbox-vacuum", outbox, untold, CannotTell, "has a fault"},
		{"outbox-vacuum", outbox, nil, OK, ""},
		{"outbox-vacuum", outbox, func(_ *inspect.App, p *inspect.Poller) {
			p.Rights.Autovacuum = false
		}, ToMend, "off for the table"},
		{"outbox-vacuum", outbox, vacuums(""), ToMend, "scale factor"},
		{"outbox-vacuum", outbox, vacuums("autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=20000"), OK,
			"0.05"},
		{"outbox-vacuum", outbox, vacuums("autovacuum_vacuum_scale_factor=5e-2"), OK, "5e-2"},
		{"outbox-vacuum", outbox, vacuums("autovacuum_vacuum_scale_factor=0.9"), ToMend, "waits for 0.9 of the table"},
		{"outbox-vacuum", outbox, vacuums("autovacuum_vacuum_scale_factor=0.051"), ToMend, "waits for 0.051 of the table"},
		{"outbox-vacuum", outbox, vacuums("autovacuum_vacuum_insert_scale_factor=0"), ToMend, "default scale factor"},
		{"outbox-vacuum", outbox, vacuums("autovacuum_vacuum_scale_factor="), ToMend, "default scale factor"},
		{"outbox-vacuum", outbox, vacuums("autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=2000000000"), ToMend,
			"waits for 2000000000 dead rows"},
	}
}
