package poller

import "strings"

// Address is how commands name the document of a poller's output; "" is the default output.
func Address(poller, output string) string {
	if output == "" {
		return poller
	}
	return poller + " --output " + output
}

// AnyDocument stands in the commands that a source advises, where the document is to be named: only who reads the
// source for an output knows which one that is. See NameDocument.
const AnyDocument = "<poller>"

// NameDocument puts the address of a document into the commands that a source's error advises; nil for nil.
func NameDocument(err error, address string) error {
	if err == nil || !strings.Contains(err.Error(), AnyDocument) {
		return err
	}
	return &namedError{err, address}
}

type namedError struct {
	error
	address string
}

func (e *namedError) Error() string {
	return strings.ReplaceAll(e.error.Error(), AnyDocument, e.address)
}
func (e *namedError) Unwrap() error { return e.error }
