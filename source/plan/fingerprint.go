package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/rowrelay/rowrelay/engine"
)

// fingerprint identifies the source definition: a checkpoint taken under one fingerprint is not used
// under another. It holds the server's identity, table or query, cursor, key and filters: what decides which rows come
// in which order. User, password, host case, driver options, projection, start and outputs do not change it.
//
// The form below is stored in every checkpoint: a change of it stops every poller. A golden test holds it.
func fingerprint(cfg *Config, engine, identity string, t engine.Table, cursor, key []string) string {
	if cfg.Identity != "" {
		identity = cfg.Identity
	}
	op := cfg.Op
	if op == "upsert" {
		op = ""
	}
	definition := struct {
		Version    int      `json:"version"`
		Engine     string   `json:"engine"`
		Identity   string   `json:"identity"`
		Table      string   `json:"table"`
		Query      string   `json:"query"`
		Cursor     []string `json:"cursor"`
		Key        []string `json:"key"`
		Where      string   `json:"where"`
		DeleteWhen string   `json:"delete_when"`
		Op         string   `json:"op"`
	}{1, engine, identity, t.Name, cfg.Query, cursor, key, cfg.Where, cfg.DeleteWhen, op}
	data, err := json.Marshal(definition)
	if err != nil {
		panic(fmt.Sprintf("source: a struct of strings does not encode: %v", err))
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
