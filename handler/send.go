package handler

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
)

// refuse answers what is not an invocation.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusBadRequest
	switch {
	case errors.Is(err, errTooLarge):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		status = http.StatusRequestTimeout
		err = fmt.Errorf("the body did not arrive within %s: %w", bodyTime, err)
	case errors.Is(err, errBrowser):
		status = http.StatusForbidden
	}
	h.log.ErrorContext(r.Context(), "the invocation could not be read", "event", "invocation_invalid", "error",
		err.Error(),
		"function", clip(chi.URLParam(r, "function"), 128), "invocation_id",
		clip(r.Header.Get("X-Azure-Functions-InvocationId"), 64),
		"next", `send the body that the Functions host sends: {"Data":{},"Metadata":{}}`)
	h.write(w, status, answer{Error: err.Error()})
}

var errBrowser = errors.New("the request comes from a browser: only the Functions host may invoke functions here")

// write sends one JSON object: never an empty body, never null, never another media type.
func (h *Handler) write(w http.ResponseWriter, status int, said answer) {
	body, err := json.Marshal(said)
	if err != nil { // strings only: it cannot happen, and must not become an empty 200 if it does
		status, body = http.StatusInternalServerError, []byte(`{"error":"the answer could not be encoded"}`)
	}
	h.send(w, status, body)
}

func (h *Handler) send(w http.ResponseWriter, status int, body []byte) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		// The outcome is committed and logged; that nobody heard it leads to a repeated invocation at most.
		h.log.Debug("the answer was not sent: the host is gone", "error", err)
	}
}

var errTooLarge = fmt.Errorf("the body has more than %d bytes", maxBody)

// bodyTime is how long a body may take: the host sends it in one go, over loopback. What stops in the middle must not
// hold a connection and its memory for ever. A tick has begun only when its body is complete, and may take as long as
// it needs.
const bodyTime = 30 * time.Second
