package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// Feed returns next with spans of what its sessions do, for ticks that a decorated Runner runs; next itself where no
// traces are exported.
func (t *Telemetry) Feed(next poller.Feed, about About) poller.Feed {
	if t == nil || t.tracer == nil {
		return next
	}
	return &feed{t, next, about}
}

// Open opens a session of the decorated feed. That it failed, the tick's report says.
func (f *feed) Open(ctx context.Context) (poller.Session, error) {
	all, ok := ctx.Value(roundKey{}).(*round)
	if !ok {
		return f.next.Open(ctx)
	}
	t := &tick{feed: f, parent: ctx, began: time.Now()}
	all.mu.Lock()
	all.ticks[f.about.Output] = t
	all.mu.Unlock()
	s, err := f.next.Open(ctx)
	if err != nil {
		return nil, err
	}
	return &session{s, t}, nil
}

// session is one tick's session; Parked and Close are the decorated one's own.
type session struct {
	poller.Session
	tick *tick
}

// Next fetches. A fetch that finds something has a span, and its grant's right carries the tick's: requests are its
// children.
func (s *session) Next(ctx context.Context, limit poller.Limit) (poller.Grant, error) {
	began := time.Now()
	grant, err := s.Session.Next(ctx, limit)
	return s.fetched(ctx, began, grant, err, "")
}

// Other fetches a probe.
func (s *session) Other(ctx context.Context, avoid [][]byte) (poller.Grant, error) {
	began := time.Now()
	grant, err := s.Session.Other(ctx, avoid)
	return s.fetched(ctx, began, grant, err, "probe")
}

func (s *session) fetched(ctx context.Context, began time.Time, grant poller.Grant, err error,
	kind string) (poller.Grant, error) {
	t := s.tick
	switch {
	case err != nil:
		if fails(err) && ctx.Err() == nil { // a stop while fetching is no failure
			t.child("fetch", trace.SpanKindClient, began, err)
		}
		return grant, err
	case len(grant.Batch.Events) == 0:
		t.mu.Lock()
		t.empty++
		t.mu.Unlock()
	default:
		if kind == "" {
			kind = kindOf(grant.Batch.Kind)
		}
		t.child("fetch", trace.SpanKindClient, began, nil,
			append(database(&grant.Origin), semconv.DBResponseReturnedRows(len(grant.Batch.Events)),
				attrBatch.String(grant.Batch.ID), attrKind.String(kind), attrToken.Int64(int64(grant.Token)))...)
	}
	if grant.Context != nil && len(grant.Batch.Events) > 0 {
		grant.Context = trace.ContextWithSpan(grant.Context, trace.SpanFromContext(t.begin()))
	}
	return grant, nil
}

// Settle commits. A commit of a position alone, in a tick that did nothing else, has no span.
func (s *session) Settle(ctx context.Context, what poller.Settlement) (int, error) {
	began := time.Now()
	n, err := s.Session.Settle(ctx, what)
	events, id := 0, ""
	for i := range what.Batches {
		b := &what.Batches[i].Batch
		events, id = events+len(b.Events), b.ID
	}
	if events > 0 || fails(err) {
		s.tick.child("commit", trace.SpanKindInternal, began, err, attrBatch.String(id), attrCount.Int(len(what.Batches)),
			attrRows.Int(events), attrAcked.Int(n))
	}
	return n, err
}

func kindOf(k change.Kind) string {
	switch k {
	case change.Sweep:
		return "sweep"
	case change.Retry:
		return "retry"
	case change.Backfill:
		return "backfill"
	case change.Apart:
		return "apart"
	default:
		return "live"
	}
}

// database says which database a batch was fetched from, in the conventions' words.
func database(d *poller.Origin) []attribute.KeyValue {
	var list []attribute.KeyValue
	switch d.Engine {
	case "sqlserver":
		list = append(list, semconv.DBSystemNameMicrosoftSQLServer)
	case "postgres":
		list = append(list, semconv.DBSystemNamePostgreSQL)
	case "mysql":
		list = append(list, semconv.DBSystemNameMySQL)
	case "sqlite":
		list = append(list, semconv.DBSystemNameSQLite)
	}
	if d.Table != "" && d.Table != "query" {
		list = append(list, semconv.DBCollectionName(d.Table))
	}
	return list
}
