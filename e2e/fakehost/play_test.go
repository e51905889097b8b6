package fakehost_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The test binary is also every custom handler of these tests: the app setting FAKEHOST_PLAY says which.
func TestMain(m *testing.M) {
	if part := os.Getenv("FAKEHOST_PLAY"); part != "" {
		play(part)
		return
	}
	os.Exit(m.Run())
}

// parts are handlers, most of which fall into a trap.
var parts = map[string]http.HandlerFunc{
	"good":  answer(200, "application/json", "{}"),
	"logs":  answer(200, "application/json; charset=utf-8", `{"Outputs":null,"Logs":["a warning"],"ReturnValue":null}`),
	"empty": answer(200, "application/json", ""),
	"empty chunked": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		flush(w)
	},
	"null":       answer(200, "application/json", " null\n"),
	"no content": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
	"text":       answer(200, "text/plain", "{}"),
	"no type":    func(w http.ResponseWriter, _ *http.Request) { w.Header()["Content-Type"] = nil; say(w, "{}") },
	"array":      answer(200, "application/json", "[]"),
	"string":     answer(200, "application/json", `"ok"`),
	"cut":        answer(200, "application/json", `{"Outputs":`),
	"500":        answer(500, "application/json", `{"Outputs":{"a":1},"Logs":["why"]}`),
	"redirect": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	},
	"outputs":  answer(200, "application/json", `{"outputs":{"queue":"aGVsbG8=","list":["a"]},"returnValue":{"more":1}}`),
	"exit 0":   func(http.ResponseWriter, *http.Request) { os.Exit(0) },
	"exit 200": func(http.ResponseWriter, *http.Request) { os.Exit(200) },
	"exit 1":   func(http.ResponseWriter, *http.Request) { os.Exit(1) },
	"new directory": func(w http.ResponseWriter, _ *http.Request) {
		if err := os.MkdirAll(filepath.Join(os.Getenv("FUNCTIONS_APP_ROOT_PATH"), ".rowrelay"), 0o700); err != nil {
			panic(err)
		}
		say(w, "{}")
	},
	"silent":      func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	"naive timer": naiveTimer,
	"naive queue": naiveQueue,
	"auditor":     audit,
	"failing auditor": func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		fmt.Println(r.Header.Get("X-Azure-Functions-InvocationId"), string(body))
		http.Error(w, "no", http.StatusInternalServerError)
	},
	"prefixed": func(w http.ResponseWriter, _ *http.Request) {
		fmt.Println("LanguageWorkerConsoleLog tick failed")
		fmt.Fprintln(os.Stderr, "azfuncjsonlog:{}")
		fmt.Fprint(os.Stderr, "no end of line")
		say(w, "{}")
	},
	"careless logger": func(w http.ResponseWriter, _ *http.Request) {
		fmt.Println("all is well")
		fmt.Fprintln(os.Stderr, "failed: the server sent a WARNing")
		fmt.Fprintln(os.Stderr, "failed:\r\n  in two lines")
		say(w, "{}")
	},
}

func play(part string) {
	if part == "exit at start" {
		fmt.Fprintln(os.Stderr, "bad settings")
		os.Exit(1)
	}
	if part == "deaf" {
		select {}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("FUNCTIONS_CUSTOMHANDLER_PORT"))
	if err != nil {
		panic(err)
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	go func() {
		<-interrupted
		os.Exit(0)
	}()
	server := &http.Server{ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				w.WriteHeader(http.StatusTeapot) // any status is a sign of life
				return
			}
			parts[part](w, r)
		})}
	panic(server.Serve(listener))
}

func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func say(w http.ResponseWriter, body string) {
	if _, set := w.Header()["Content-Type"]; !set {
		w.Header().Set("Content-Type", "application/json")
	}
	_, _ = io.WriteString(w, body)
}

func flush(w http.ResponseWriter) {
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
}

// naiveTimer reads the timer as a Go programmer would at first: an object, with times.
func naiveTimer(w http.ResponseWriter, r *http.Request) {
	var invocation struct {
		Data struct {
			Timer struct {
				ScheduleStatus *struct{ Last, Next, LastUpdated time.Time }
				IsPastDue      bool
			}
		}
		Metadata struct {
			RetryContext *struct{ RetryCount int }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&invocation); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if status := invocation.Data.Timer.ScheduleStatus; status == nil || status.Last.IsZero() {
		http.Error(w, "no status", http.StatusBadRequest)
		return
	}
	say(w, "{}")
}

// naiveQueue takes the message as it stands and the count for a number.
func naiveQueue(w http.ResponseWriter, r *http.Request) {
	var invocation struct {
		Data     struct{ Item string }
		Metadata struct{ DequeueCount any }
	}
	err := json.NewDecoder(r.Body).Decode(&invocation)
	if err != nil || invocation.Data.Item != "hello" || invocation.Metadata.DequeueCount != 1.0 {
		http.Error(w, fmt.Sprintf("%v %q %v", err, invocation.Data.Item, invocation.Metadata.DequeueCount),
			http.StatusBadRequest)
		return
	}
	say(w, "{}")
}

// audit answers with what the worker was given.
func audit(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	directory, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	given, err := json.Marshal(map[string]any{"Logs": []string{
		r.Method + " " + r.URL.Path, string(body), strings.Join(r.TransferEncoding, ","), r.Header.Get("Content-Type"),
		r.Header.Get("User-Agent"), r.Header.Get("X-Azure-Functions-InvocationId"),
		r.Header.Get("X-Azure-Functions-HostVersion"),
		r.Header.Get("Accept-Encoding"), strings.Join(os.Args[1:], ","), directory, os.Getenv("FUNCTIONS_APP_ROOT_PATH"),
		os.Getenv("FUNCTIONS_HTTPWORKER_PORT"), os.Getenv("FUNCTIONS_CUSTOMHANDLER_WORKER_ID"),
		os.Getenv("pollers__orders__schedule"),
		strconv.FormatInt(r.ContentLength, 10), r.Header.Get("Traceparent"),
	}})
	if err != nil {
		panic(err)
	}
	say(w, string(given))
}
