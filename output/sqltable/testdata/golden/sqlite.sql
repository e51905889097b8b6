CREATE TABLE IF NOT EXISTS "sales"."rowrelay_applied" (
    id TEXT NOT NULL PRIMARY KEY,
    scope TEXT NOT NULL,
    token bigint NOT NULL,
    number bigint NOT NULL,
    event_id TEXT NOT NULL,
    previous TEXT
)

INSERT INTO "sales"."rowrelay_applied" AS g ("id", "scope", "token", "number", "event_id") VALUES (?, ?, ?, ?, ?), (?, ?, ?, ?, ?) ON CONFLICT ("id") DO UPDATE SET "scope" = excluded."scope", "token" = excluded."token", "number" = excluded."number", "event_id" = excluded."event_id", previous = g.event_id WHERE g.token < excluded.token OR g.token = excluded.token AND g.number <= excluded.number RETURNING id, coalesce(previous, '')

DELETE FROM "sales"."copies" WHERE "id" = ?

INSERT INTO "sales"."copies" ("id", "amount", "note", "photo") VALUES (?, ?, ?, ?), (?, ?, ?, ?) ON CONFLICT ("id") DO UPDATE SET "amount" = excluded."amount", "note" = excluded."note", "photo" = excluded."photo"

INSERT INTO "sales"."copies" ("id") VALUES (?) ON CONFLICT ("id") DO NOTHING
