CREATE TABLE IF NOT EXISTS "sales"."rowrelay_applied" (
    scope TEXT NOT NULL,
    key_hash TEXT NOT NULL,
    token bigint NOT NULL,
    number bigint NOT NULL,
    event_id TEXT NOT NULL,
    PRIMARY KEY (scope, key_hash)
)

INSERT INTO "sales"."rowrelay_applied" ("scope", "key_hash", "token", "number", "event_id") VALUES (?1, ?2, 0, 0, ''), (?3, ?4, 0, 0, '') ON CONFLICT ("scope", "key_hash") DO NOTHING

SELECT key_hash, token, number, event_id FROM "sales"."rowrelay_applied" WHERE scope = ?1 AND key_hash IN (SELECT value FROM json_each(?2)) ORDER BY key_hash

INSERT INTO "sales"."rowrelay_applied" ("scope", "key_hash", "token", "number", "event_id") VALUES (?1, ?2, ?3, ?4, ?5), (?6, ?7, ?8, ?9, ?10) ON CONFLICT ("scope", "key_hash") DO UPDATE SET "token" = excluded."token", "number" = excluded."number", "event_id" = excluded."event_id"

DELETE FROM "sales"."copies" WHERE "id" = ?1

INSERT INTO "sales"."copies" ("id", "amount", "note", "photo") VALUES (?1, ?2, ?3, ?4), (?5, ?6, ?7, ?8) ON CONFLICT ("id") DO UPDATE SET "amount" = excluded."amount", "note" = excluded."note", "photo" = excluded."photo"

INSERT INTO "sales"."copies" ("id") VALUES (?1) ON CONFLICT ("id") DO NOTHING
