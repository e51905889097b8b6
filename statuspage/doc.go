// Package statuspage shows a status.Report as a web page and as JSON, and carries out what its buttons ask for.
//
// It is served in two ways, with one page and one rule each for who may look and who may act:
//
//	Standalone  `rowrelay run`: GET /status, GET /status.json, POST /status/actions, and a login, where status__token is set.
//	            Without a token the page is for this machine only (its Host must be a name of it, so that no web site can
//	            read it through a name of its own), and nothing can be done.
//	View, Actions  under the Functions host, which asks for its keys before it calls: two functions, made from templates/.
//
// Pages work without scripts, but for one thing: under the host the admin key has to travel in a header, which no form
// can send. They load nothing: the style and the script stand in the page, and the Content-Security-Policy names their
// hashes. What is shown comes from databases and destinations and is hostile until it is escaped: by all of html.go but
// Raw, which has our own files alone.
package statuspage
