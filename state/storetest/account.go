package storetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/state"
)

// RunMissing proves that a store whose place does not exist says so, with a remedy, and takes nothing for empty.
// version is one that the store may have written, words are what each error names.
func RunMissing(t *testing.T, s state.Store, version string, words ...string) {
	t.Helper()
	_, loadErr := s.Load(t.Context(), "state/app/orders.json")
	_, createErr := s.Create(t.Context(), "state/app/orders.json", []byte("{}"))
	_, replaceErr := s.Replace(t.Context(), "state/app/orders.json", []byte("{}"), state.Version(version))
	_, listErr := s.List(t.Context(), "state/")
	for name, err := range map[string]error{"Load": loadErr, "Create": createErr, "Replace": replaceErr, "List": listErr} {
		permanent(t, name, err, words...)
	}
}

// RunDenied sends a wrong account key: the service answers 403 as it does to an identity without the role. open opens a
// store by a connection string.
func RunDenied(t *testing.T, connection string, open func(string) state.Store, words ...string) {
	t.Helper()
	parts := strings.Split(connection, ";")
	for i := range parts {
		if strings.HasPrefix(parts[i], "AccountKey=") {
			parts[i] = "AccountKey=cGxhbnRlZC1zZWNyZXQtcGxhbnRlZC1zZWNyZXQ="
		}
	}
	_, err := open(strings.Join(parts, ";")).Load(t.Context(), "state/app/orders.json")
	permanent(t, "Load", err, append(words, "403")...)
	for _, secret := range []string{"planted", "cGxhbnRl", "http://", "SharedKey"} {
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%q holds %s", err, secret)
		}
	}
}

// permanent wants a fault that an operator has to mend, which names words.
func permanent(t *testing.T, name string, err error, words ...string) {
	t.Helper()
	var fault *state.PermanentError
	if !errors.As(err, &fault) || errors.Is(err, state.ErrNotFound) {
		t.Errorf("%s: %v, want a permanent fault", name, err)
		return
	}
	for _, want := range words {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q does not name %s", name, err, want)
		}
	}
}
