package leased

import (
	"crypto/sha256"
	"encoding/hex"
)

// FunctionID is the id that the Azure SQL trigger binding gives a function of a site: the first 16 digits of a GUID
// made of a hash, which writes its first bytes in groups from the end.
func FunctionID(site, function string) string {
	b := sha256.Sum256([]byte(site + function))
	return hex.EncodeToString([]byte{b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6]})
}
