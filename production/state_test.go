package production

import (
	"errors"
	"testing"

	"github.com/rowrelay/rowrelay/azure"
	"github.com/rowrelay/rowrelay/inspect"
)

func TestStateItems(t *testing.T) { try(t, stateCases()) }

func stateCases() []verdictCase {
	denied := errors.New("HTTP 403")
	identity := []string{"state__kind=blob", "AzureWebJobsStorage__accountName=shop"}
	// accounts are the state's, and the host's; "" where the settings do not tell.
	accounts := func(own, host string) func(*inspect.App, *inspect.Poller) {
		return func(f *inspect.App, _ *inspect.Poller) {
			f.Store.Account, f.HostAccount = own, azure.HostAccount{Name: host, Set: true, Key: true}
		}
	}
	copies := func(c inspect.Copies) func(*inspect.App, *inspect.Poller) {
		return func(f *inspect.App, _ *inspect.Poller) { f.Store.Copies = c }
	}
	noStore := func(f *inspect.App, _ *inspect.Poller) { f.Store.Opened = false }
	outboxOnly := []string{outboxMode, "state__kind=", "state__path="}
	return []verdictCase{
		{"state-store", nil, nil, OK, "for one machine"},
		{"state-store", blob, nil, OK, "blob container"},
		{"state-store", outboxOnly, noStore, NoMatter, ""},
		{"state-store", nil, func(f *inspect.App, _ *inspect.Poller) {
			f.Config.State.Kind = ""
		}, ToMend, "state__kind is not set"},
		{"state-store", []string{outboxMode}, nil, OK, "for one machine"}, // it is set, and not used
		{"state-store", []string{"state__kind=memory", "state__path="}, nil, ToMend, "gone with the process"},
		{"state-store", []string{"state__kind=memory", "state__path="}, hosted, ToMend, "gone with the process"},
		{"state-store", []string{"state__path=state"}, nil, ToMend, "working directory"},
		{"state-store", nil, hosted, ToMend, "another instance"},
		{"state-store", []string{"state__kind=blob", "AzureWebJobsStorage=UseDevelopmentStorage=true"}, nil, ToMend,
			"emulator"},
		{"state-reached", nil, nil, OK, "is there"},
		{"state-reached", nil, func(f *inspect.App, _ *inspect.Poller) {
			f.Store.Missing = true
		}, CannotTell, "not there yet"},
		{"state-reached", nil, noStore, CannotTell, "the settings have faults"},
		{"state-reached", []string{outboxMode}, nil, OK, "is there"},
		{"state-reached", outboxOnly, noStore, NoMatter, ""},
		{"state-reached", []string{"state__kind=memory"}, nil, NoMatter, ""},
		{"state-reached", blob, nil, OK, "answers"},
		{"state-reached", blob, func(f *inspect.App, _ *inspect.Poller) {
			f.Store.ListErr = errors.New("HTTP 404 ContainerNotFound")
		}, ToMend, "ContainerNotFound"},
		{"state-reached", blob, func(f *inspect.App, _ *inspect.Poller) {
			f.Store.Missing = true
		}, CannotTell, "is not there yet; the first tick makes it, if the identity may"},
		{"state-reached", blob, func(f *inspect.App, _ *inspect.Poller) {
			f.Store.Missing, f.Store.ListErr = true, errors.New("HTTP 404 ContainerNotFound")
		}, ToMend, "ContainerNotFound"},
		{"state-account", nil, nil, NoMatter, ""},
		{"state-account", append([]string{"state__container=azure-webjobs-hosts"}, blob...), nil, ToMend, "host's"},
		{"state-account", blob, both(hosted, accounts("shop", "shop")), ToMend, "with a key"},
		{"state-account", blob, both(hosted, accounts("shop", "shop"), func(f *inspect.App, _ *inspect.Poller) {
			f.Store.OneContainer = true
		}), OK, "for one container"},
		{"state-account", blob, both(hosted, accounts("shop", "host")), OK, "is not that of"},
		{"state-account", blob, both(hosted, accounts("shop", "")), CannotTell, "AzureWebJobsStorage is does not stand"},
		{"state-account", blob, both(hosted, accounts("", "host")), CannotTell, "does not stand"},
		{"state-account", identity, both(hosted, accounts("shop", "shop")), CannotTell, "with an identity"},
		{"state-account", identity, nil, NoMatter, "no host has an account"},
		{"state-copies", nil, nil, NoMatter, ""},
		{"state-copies", blob, nil, OK, ""},
		{"state-copies", blob, noStore, NoMatter, ""},
		{"state-copies", blob, copies(inspect.Copies{Days: 7}), ToMend, "7 day"},
		{"state-copies", blob, copies(inspect.Copies{Documents: 1, Versions: true}), ToMend, "versions"},
		{"state-copies", identity, copies(inspect.Copies{Documents: 1, Err: denied}), CannotTell, "HTTP 403"},
		{"state-copies", identity, copies(inspect.Copies{VersionErr: denied}), CannotTell, "cannot be listed (HTTP 403)"},
		{"state-copies", identity, copies(inspect.Copies{}), CannotTell, "no document"},
		{"start", nil, nil, OK, "earliest"},
		{"start", []string{outboxMode}, nil, NoMatter, ""},
		{"start", []string{"pollers__orders__source__start=latest"}, nil, ToMend, "latest"},
	}
}
