package main

import (
	"path/filepath"
	"slices"
)

// stateless reports whether no poller has a state document.
func (f *facts) stateless() bool {
	return !slices.ContainsFunc(f.pollers, func(p *pollerFacts) bool { return !isOutbox(p.w.cfg) })
}

const noDocuments = "every poller is an outbox, whose state is its rows"

func judgeStore(f *facts) answer {
	s := &f.app.cfg.State
	switch {
	case s.Kind == "" && f.stateless():
		return none(noDocuments)
	case s.Kind == "blob" && s.Connection.Development:
		return bad("", "%s is Azurite, an emulator", storeName(s))
	case s.Kind == "blob":
		return good("%s", storeName(s))
	case s.Kind == "file" && f.hosted:
		return bad("", "%s, in a Function App: another instance does not see them, and a deployment may delete them", storeName(s))
	case s.Kind == "file" && !filepath.IsAbs(s.Path):
		return bad("write an absolute state__path on a disk that stays", "%s, counted from the working directory: a start from elsewhere begins anew", storeName(s))
	case s.Kind == "file":
		return good("%s, for one machine", storeName(s))
	case s.Kind == "memory":
		return bad("", "memory: it is gone with the process")
	default:
		return bad("", "state__kind is not set")
	}
}

func judgeReached(f *facts) answer {
	s := &f.app.cfg.State
	switch {
	case f.app.store == nil && f.stateless():
		return none(noDocuments)
	case f.app.store == nil:
		return unknown("mend the settings first", "the settings have faults")
	case s.Kind == "memory":
		return none("memory")
	case s.Kind == "file" && f.missing:
		return unknown("see that the process may write there; the first start makes it", "%s is not there yet", s.Path)
	case s.Kind == "file":
		return good("%s is there", s.Path)
	case f.listErr != nil:
		return bad("", "%s: %v", storeName(s), f.listErr)
	}
	return good("%s answers", storeName(s))
}

func judgeStart(_ *facts, p *pollerFacts) answer {
	if isOutbox(p.w.cfg) {
		return none("an outbox has no document")
	}
	start := p.w.cfg.Source.Start
	if start == "latest" {
		return bad("", "source__start=latest")
	}
	return good("source__start=%s", start)
}
