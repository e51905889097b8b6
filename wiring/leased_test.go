package wiring

import (
	"io"
	"testing"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/host"
)

// TestSharedLeasesFanOut: under the Functions host the changes that instances share are handed out by a queue where the
// settings name one, and standalone they are not.
func TestSharedLeasesFanOut(t *testing.T) {
	env := []string{"ORDERS_DB=sqlserver://app:secret@127.0.0.1:1?database=shop", "WEBSITE_SITE_NAME=shop",
		"AzureWebJobsStorage=UseDevelopmentStorage=true", "pollers__orders__source__connection=ORDERS_DB",
		"pollers__orders__source__mode=changetracking", "pollers__orders__source__leases=azfunc",
		"pollers__orders__source__table=dbo.Orders", "pollers__orders__output__kind=stdout",
		"pollers__orders__source__fanout_connection=AzureWebJobsStorage",
		"pollers__orders__source__fanout_queue=orders-workers"}
	for _, compat := range []string{"none", "binding"} {
		t.Run(compat, func(t *testing.T) { sharedLeasesFanOut(t, append(env, "pollers__orders__source__compat="+compat)) })
	}
}

func sharedLeasesFanOut(t *testing.T, env []string) {
	t.Helper()
	cfg, err := config.Load(env)
	if err != nil {
		t.Fatal(err)
	}
	a := New(cfg, &Process{Out: io.Discard, Environ: env})
	defer a.Close() //nolint:errcheck // nothing was opened
	if p := a.Handlers(nil)[0]; p.Fanout != nil || p.Outbox != nil || len(p.Faults) > 0 {
		t.Errorf("standalone: %+v", p)
	}
	p := a.Handlers(&host.File{})[0]
	if p.Fanout == nil || p.Outbox != nil || len(p.Faults) > 0 {
		t.Fatalf("under the host: %+v", p)
	}
	if r, err := p.Fanout.Partition(3); err != nil || r == nil {
		t.Error(err)
	}
}
