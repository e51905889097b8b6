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

// What a destination answered may hold what was sent to it: receivers like to echo their input. An error that holds
// some of an answer puts it between these marks, so that it can be left out where values of rows must not stand (the
// status page), also when the error has become part of another text, or of a stored reason.
const (
	answerBegins = "«"
	answerEnds   = "»"
)

var answerMarks = strings.NewReplacer(answerBegins, "<", answerEnds, ">")

// QuoteAnswer marks a text as something that a destination answered.
func QuoteAnswer(text string) string { return answerBegins + answerMarks.Replace(text) + answerEnds }

// WithoutAnswers is a text without what QuoteAnswer has marked in it. Of a text that was cut within an answer, nothing
// is left from there on.
func WithoutAnswers(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, answerBegins)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(answerBegins + "…" + answerEnds)
		if _, text, found = strings.Cut(rest, answerEnds); !found {
			return b.String()
		}
	}
}
