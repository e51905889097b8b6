package statuspage

import g "maragu.dev/gomponents"

// What a page is made of. These calls are not inlined: the compiler would write the code that renders an element once
// more for each of the 550 places that make one, 580 KB of the program.

// el is an element, with its attributes and what is in it.
//
//go:noinline
func el(name string, children ...g.Node) g.Node { return g.El(name, children...) }

// attr is an attribute; without a value it is its name alone.
//
//go:noinline
func attr(name string, value ...string) g.Node { return g.Attr(name, value...) }

// plain is text, which is escaped.
//
//go:noinline
func plain(text string) g.Node { return g.Text(text) }
