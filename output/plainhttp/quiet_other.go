//go:build !unix

package plainhttp

const tellsQuiet = false

func (*conn) quiet() bool { return false }
