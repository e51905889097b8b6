package statuspage

import (
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"net/http"
	"strings"
)

//go:embed page.css
var styleText string

//go:embed page.js
var scriptText string

// policy lets the page's own style and script run, by their hashes, lets the script ask this server, and nothing else.
var policy = strings.Join([]string{
	"default-src 'none'", "style-src " + hashOf(styleText), "script-src " + hashOf(scriptText), "connect-src 'self'",
	"form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'",
}, "; ")

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// setHeaders sets what every answer has, whatever it says, and what a browser may tell others of the page's address.
func setHeaders(h http.Header, referrer string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", referrer)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// Referrer-Policy of the two ways of serving. Under the host the address may hold a function key, and forms are sent by
// a script. Standalone a form has to say where it comes from: with no-referrer a browser sends "Origin: null", and over
// plain HTTP beyond loopback no Sec-Fetch-Site either, so that the page's own forms would be taken for another site's.
const (
	toNobody   = "no-referrer"
	toSameSite = "same-origin"
)

// Secured sets the headers before anything can be answered. What refuses a request before View or Actions sees it
// belongs inside.
func Secured(next http.Handler) http.Handler { return secured(toNobody, next) }

func secured(referrer string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header(), referrer)
		next.ServeHTTP(w, r)
	})
}
