CREATE TABLE IF NOT EXISTS "sales"."rowrelay_applied" (
    id varchar(32) NOT NULL PRIMARY KEY,
    scope varchar(400) NOT NULL,
    token bigint NOT NULL,
    number bigint NOT NULL,
    event_id varchar(128) NOT NULL,
    previous varchar(128)
)

INSERT INTO "sales"."rowrelay_applied" AS g ("id", "scope", "token", "number", "event_id") OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, $5), ($6, $7, $8, $9, $10) ON CONFLICT ("id") DO UPDATE SET "scope" = excluded."scope", "token" = excluded."token", "number" = excluded."number", "event_id" = excluded."event_id", previous = g.event_id WHERE g.token < excluded.token OR g.token = excluded.token AND g.number <= excluded.number RETURNING id, coalesce(previous, '')

DELETE FROM "sales"."copies" WHERE "id" = $1

INSERT INTO "sales"."copies" ("id", "amount", "note", "photo") OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4), ($5, $6, $7, $8) ON CONFLICT ("id") DO UPDATE SET "amount" = excluded."amount", "note" = excluded."note", "photo" = excluded."photo"

INSERT INTO "sales"."copies" ("id") OVERRIDING SYSTEM VALUE VALUES ($1) ON CONFLICT ("id") DO NOTHING
