package source

// SplitName takes a table's name apart, as settings write it: one to three parts divided by dots, each plain or quoted as
// "a", [a] or `a` with the closing quote doubled inside. The parts come unquoted.
func SplitName(text string) ([]string, error) { return splitName(text) }
