-- between two rows
SELECT r."id", +r."updated_at", r."amount"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND (r."updated_at", r."id") > (?1, ?2) AND (r."updated_at", r."id") <= (?3, ?4)
ORDER BY r."updated_at", r."id"
LIMIT 501
-- parameters: updated_at, id, up to updated_at, up to id

-- up to a value, after another
SELECT r."id", +r."updated_at", r."amount"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND r."updated_at" > ?1 AND r."updated_at" <= ?2
ORDER BY r."updated_at", r."id"
LIMIT 501
-- parameters: updated_at, up to updated_at

-- count, after a row and up to a value
SELECT COUNT(*)
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND (r."updated_at", r."id") > (?1, ?2) AND r."updated_at" <= ?3
-- parameters: updated_at, id, up to updated_at

-- count
SELECT COUNT(*)
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
)

-- the last one of the next rows, up to a value
SELECT +r."updated_at", r."id"
FROM (SELECT r."updated_at", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."updated_at", r."id") > (?1, ?2) AND r."updated_at" <= ?3
ORDER BY r."updated_at", r."id"
LIMIT 4096
) AS r
ORDER BY r."updated_at" DESC, r."id" DESC
LIMIT 1
-- parameters: updated_at, id, up to updated_at

-- the last row below a value
SELECT +r."updated_at", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND r."updated_at" < ?1
ORDER BY r."updated_at" DESC, r."id" DESC
LIMIT 1
-- parameters: updated_at

-- any row from a value on
SELECT +r."updated_at", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND r."updated_at" >= ?1
LIMIT 1
-- parameters: updated_at

-- stored times: text of another form, up to a value
SELECT +r."updated_at", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" >= ?1 AND r."updated_at" < ?2 AND NOT (length(r."updated_at") > 10 AND substr(r."updated_at", 11, 1) = ?4 AND substr(ltrim(substr(r."updated_at", 12), '0123456789:.'), 1, 6) = ?3 AND length(r."updated_at") = 20) AND (
status = 'new' OR status = 'paid' -- open ones
)
ORDER BY r."updated_at"
-- parameters: updated_at, updated_at, updated_at, updated_at

-- of all text
SELECT +r."updated_at", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" >= ?1 AND NOT (length(r."updated_at") > 10 AND substr(r."updated_at", 11, 1) = ?2 AND substr(ltrim(substr(r."updated_at", 12), '0123456789:.'), 1, 6) IN ('', '+00:00', '-00:00', '+00', ' +0000')) AND (
status = 'new' OR status = 'paid' -- open ones
)
ORDER BY r."updated_at"
-- parameters: updated_at, updated_at

-- of another offset
SELECT +r."updated_at", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" >= ?1 AND NOT (length(r."updated_at") > 10 AND substr(r."updated_at", 11, 1) = ?3 AND substr(ltrim(substr(r."updated_at", 12), '0123456789:.'), 1, 6) = ?2) AND (
status = 'new' OR status = 'paid' -- open ones
)
ORDER BY r."updated_at"
-- parameters: updated_at, updated_at, updated_at

-- all but dates
SELECT +r."updated_at", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" >= ?1 AND NOT (length(r."updated_at") = 10) AND (
status = 'new' OR status = 'paid' -- open ones
)
ORDER BY r."updated_at"
-- parameters: updated_at

-- numbers of a smaller unit
SELECT +r."updated_at", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" >= 1000000 AND r."updated_at" < ?1 AND (r."updated_at" < 6000000 OR r."updated_at" >= 100000000) AND (
status = 'new' OR status = 'paid' -- open ones
)
LIMIT 1
-- parameters: updated_at

-- values between two texts
SELECT +r."updated_at"
FROM "shop"."orders" AS r
WHERE r."updated_at" >= ?1 AND r."updated_at" < ?2 AND (
status = 'new' OR status = 'paid' -- open ones
)
ORDER BY r."updated_at"
-- parameters: updated_at, updated_at

-- by one key
SELECT r."id", +r."updated_at", r."amount"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND r."id" IN (?1)
-- parameters: id

-- by two keys
SELECT r."id", +r."updated_at", r."amount"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND r."id" IN (?1, ?2)
-- parameters: id, id

-- after a row, no order key of four
SELECT r."id", +r."updated_at", r."amount"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND (r."updated_at", r."id") > (?1, ?2) AND (1 = 1
	AND (r."id" <> ?3)
	AND (r."id" IS NOT NULL)
	AND (r."id" <> ?4)
	AND (r."id" <> ?5))
ORDER BY r."updated_at", r."id"
LIMIT 2
-- parameters: updated_at, id, id, id, id

