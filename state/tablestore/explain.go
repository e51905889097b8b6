package tablestore

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/rowrelay/rowrelay/state"
)

func hasCode(err error, code aztables.TableErrorCode) bool {
	var answer *azcore.ResponseError
	return errors.As(err, &answer) && answer.ErrorCode == string(code)
}

// unmade says that the table is missing, and is yet to be made: it holds nothing.
func (s *Store) unmade(err error) bool { return s.cfg.Create && hasCode(err, aztables.TableNotFound) }

// conflictIfGone: a condition on an entity that does not exist is not met.
func (s *Store) conflictIfGone(err error) error {
	if hasCode(err, aztables.ResourceNotFound) || s.unmade(err) {
		return state.ErrConflict
	}
	return err
}

// explain turns the service's answers into the store's words, with the mend where an operator has to see to it. The
// SDK's own text is not passed on: it holds the request's URL, and so a shared access signature.
func (s *Store) explain(doing string, err error) error {
	var fault *state.PermanentError
	if err == nil || errors.Is(err, state.ErrConflict) || errors.Is(err, state.ErrNotFound) || errors.As(err, &fault) {
		return err
	}
	var answer *azcore.ResponseError
	if !errors.As(err, &answer) {
		var request *url.Error
		if errors.As(err, &request) {
			err = request.Err
		}
		return fmt.Errorf("%s: the storage account cannot be reached: %w", doing, err)
	}
	permanent := func(mend string) error {
		return &state.PermanentError{Err: fmt.Errorf("%s: HTTP %d %s: %s", doing, answer.StatusCode, answer.ErrorCode, mend)}
	}
	switch {
	case hasCode(err, aztables.TableNotFound):
		return permanent(fmt.Sprintf("the table %s does not exist: create it, or set state__create=true", s.cfg.Table))
	case hasCode(err, aztables.TableBeingDeleted):
		return fmt.Errorf("%s: HTTP %d %s", doing, answer.StatusCode, answer.ErrorCode)
	case answer.StatusCode == http.StatusNotFound:
		return state.ErrNotFound
	case answer.StatusCode == http.StatusConflict, answer.StatusCode == http.StatusPreconditionFailed:
		return state.ErrConflict
	case answer.StatusCode == http.StatusForbidden:
		return permanent(fmt.Sprintf("access denied: give this app's identity the role Storage Table Data Contributor on the table %s, "+
			"or check the account key, the signature's permissions and the account's firewall (state__connection)", s.cfg.Table))
	case answer.StatusCode == http.StatusUnauthorized, answer.StatusCode == http.StatusBadRequest:
		return permanent("check the connection that state__connection names")
	}
	return fmt.Errorf("%s: HTTP %d %s", doing, answer.StatusCode, answer.ErrorCode)
}
