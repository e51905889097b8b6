// Package nested reads and writes settings as one YAML file: the names of docs/settings.md, nested where they have two
// underscores.
//
//	state:
//	  kind: file
//	pollers:
//	  orders:
//	    source: {connection: SHOP_DB, table: orders, cursor: version}
//	    output__kind: stdout
//	env:
//	  SHOP_DB: sqlite:shop.db
//
// A value is the text that stands there, whatever YAML takes it for: 0010 is four characters, yes is three. What is
// below env are variables that are no settings of ours, such as connections. The file knows no lists, tags, anchors or
// further documents: each is a fault, because no setting has such a value.
//
// Secrets need not be in it. A reference is what it is in the environment: '%NAME%' in a value, NAME_FILE for a file
// that holds it, and the name of a connection that the environment has.
package nested
