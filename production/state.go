package production

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/azure"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
)

func stateItems() []item {
	return []item{
		{
			id: "state-store", group: groupState, asks: "the state survives the instance, and every instance sees it",
			app:  judgeStore,
			why:  "Without its document a poller begins from source__start: everything again, or with latest what was missed is lost.",
			mend: "set state__kind=blob or table with a storage account of Azure, or sql with a database; alone on one machine: state__kind=file with an absolute state__path on a disk that stays",
		},
		{
			id: "state-reached", group: groupState, asks: "the container or table is there, and we may list it",
			app:  judgeReached,
			why:  "Ticks fail (checkpoint_load_failed) until it is.",
			mend: "create the container, and give the app's identity Storage Blob Data Contributor on it (a table: Storage Table Data Contributor; a database's: rowrelay state init)",
		},
		{
			id: "state-account", group: groupState, asks: "the state has an account, or a container with rights, of its own",
			app:  judgeAccount,
			why:  "AzureWebJobsStorage holds the host's keys and, on some plans, the code: whoever has its key to reach the checkpoints has all of that too.",
			mend: "name another account in state__connection, or reach it with an identity that has Storage Blob Data Contributor on the container only",
		},
		{
			id: "state-copies", group: groupState, asks: "neither soft delete nor versions keep every old state",
			app:  judgeCopies,
			why:  "A document is rewritten by each commit and each heartbeat. With soft delete for blobs, or versions, each of these is kept and paid for.",
			mend: "turn soft delete for blobs and versions off in this account, or keep the state in an account of its own; soft delete for containers costs nothing",
		},
		{
			id: "start", group: groupState, asks: "if the state document is lost, rows are delivered again; none are lost", each: judgeStart,
			needs: mode.Document, without: "an outbox has no document",
			why: "source__start counts where there is no document: at the first start, and after somebody deleted it. With latest, rows that " +
				"nobody has seen are then passed over without a word.",
			mend: "once the poller has its document, set source__start to earliest or to a value",
		},
	}
}

// stateless reports whether no poller has a state document.
func stateless(f *inspect.App) bool {
	return !slices.ContainsFunc(f.Pollers, func(p *inspect.Poller) bool { return p.Can(mode.Document) })
}

const noDocuments = "no poller has a state document: what there is to keep stands in the database"

func judgeStore(f *inspect.App) Answer {
	s := &f.Config.State
	switch {
	case s.Kind == "" && stateless(f):
		return none(noDocuments)
	case (s.Kind == "blob" || s.Kind == "table") && s.Connection.Development:
		return bad("", "%s is Azurite, an emulator", f.Store.Name)
	case s.Kind == "blob", s.Kind == "table", s.Kind == "sql":
		return good("%s", f.Store.Name)
	case s.Kind == "file" && f.Hosted():
		return bad("", "%s, in a Function App: another instance does not see them, and a deployment may delete them",
			f.Store.Name)
	case s.Kind == "file" && !filepath.IsAbs(s.Path):
		return bad("write an absolute state__path on a disk that stays",
			"%s, counted from the working directory: a start from elsewhere begins anew", f.Store.Name)
	case s.Kind == "file":
		return good("%s, for one machine", f.Store.Name)
	case s.Kind == "memory":
		return bad("", "memory: it is gone with the process")
	default:
		return bad("", "state__kind is not set")
	}
}

func judgeReached(f *inspect.App) Answer {
	s := &f.Config.State
	switch {
	case !f.Store.Opened && stateless(f):
		return none(noDocuments)
	case !f.Store.Opened:
		return unknown("correct the settings first", "the settings have faults")
	case s.Kind == "memory":
		return none("memory")
	case s.Kind == "file" && f.Store.Missing:
		return unknown("see that the process may write there; the first start makes it", "%s is not there yet", s.Path)
	case s.Kind == "file":
		return good("%s is there", s.Path)
	case f.Store.ListErr != nil:
		return bad("", "%s: %v", f.Store.Name, f.Store.ListErr)
	}
	if f.Store.Missing {
		return unknown("create the container, and give the identity Storage Blob Data Contributor on it: with a role on one container it cannot make one",
			"%s is not there yet; the first tick makes it, if the identity may", f.Store.Name)
	}
	return good("%s answers", f.Store.Name)
}

func judgeStart(_ *inspect.App, p *inspect.Poller) Answer {
	start := p.Config.Source.Start
	if start == "latest" {
		return bad("", "source__start=latest")
	}
	return good("source__start=%s", start)
}

func judgeAccount(f *inspect.App) Answer {
	s := &f.Config.State
	if s.Kind != "blob" && s.Kind != "table" {
		return none("the state is in no storage account")
	}
	if strings.HasPrefix(s.Container, "azure-webjobs-") {
		return bad("set state__container to a container of its own", "the container %s is the host's", s.Container)
	}
	const look = "compare the two settings: the state should have another account, or an identity with a role on its container only"
	own, host := f.Store.Account, f.HostAccount.Name
	switch {
	case !f.HostAccount.Set && !f.Hosted():
		return none("no host.json, and no %s: no host has an account", azure.HostStorage)
	case host == "":
		return unknown(look, "which account %s is does not stand in it", azure.HostStorage)
	case own == "":
		return unknown(look, "which account %s is does not stand in it", s.Connection.Setting)
	case own != host:
		return good("the account %s is not that of %s", own, azure.HostStorage)
	case s.Connection.ConnectionString == "":
		return unknown("see that the identity's role is on the container only, not on the account",
			"the host's account, with an identity: where its role is on is not seen")
	case f.Store.OneContainer:
		return good("the host's account, with a signature for one container")
	}
	return bad("", "it is the account of %s, and %s reaches it with a key or a signature for the whole account",
		azure.HostStorage, s.Connection.Setting)
}

func judgeCopies(f *inspect.App) Answer {
	c := &f.Store.Copies
	const look = "look at the account's data protection: no soft delete for blobs, no versions; soft delete for containers is welcome"
	switch {
	case f.Config.State.Kind != "blob" || !f.Store.Opened:
		return none("the state is in no blobs")
	case c.Days > 0:
		return bad("", "soft delete for blobs is on: every old state is kept for %d day(s)", c.Days)
	case c.Versions:
		return bad("turn versions off in this account, or keep the state in an account of its own",
			"blobs have versions: every old state is kept")
	case c.Err != nil:
		return unknown(look, "the account's settings are not shown to this login (%v)", c.Err)
	case c.VersionErr != nil:
		return unknown(look, "soft delete for blobs is off; whether there are versions is not known: the documents cannot be listed (%v)", c.VersionErr)
	case c.Documents == 0:
		return unknown(look, "soft delete for blobs is off; whether there are versions is not seen as long as there is no document")
	}
	return good("soft delete for blobs is off, and no document has a version")
}
