-- between two rows
SELECT r."tenant", r."id", +r."updated_at", r."version", r."payload"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."updated_at", r."version", r."tenant", r."id") > (?1, ?2, ?3, ?4) AND (r."updated_at", r."version", r."tenant", r."id") <= (?5, ?6, ?7, ?8)
ORDER BY r."updated_at", r."version", r."tenant", r."id"
LIMIT 501
-- parameters: updated_at, version, tenant, id, up to updated_at, up to version, up to tenant, up to id

-- up to a value, after another
SELECT r."tenant", r."id", +r."updated_at", r."version", r."payload"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."updated_at", r."version") > (?1, ?2) AND (r."updated_at", r."version") <= (?3, ?4)
ORDER BY r."updated_at", r."version", r."tenant", r."id"
LIMIT 501
-- parameters: updated_at, version, up to updated_at, up to version

-- count, after a row and up to a value
SELECT COUNT(*)
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."updated_at", r."version", r."tenant", r."id") > (?1, ?2, ?3, ?4) AND (r."updated_at", r."version") <= (?5, ?6)
-- parameters: updated_at, version, tenant, id, up to updated_at, up to version

-- count
SELECT COUNT(*)
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL

-- the last one of the next rows, up to a value
SELECT +r."updated_at", r."version", r."tenant", r."id"
FROM (SELECT r."updated_at", r."version", r."tenant", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."updated_at", r."version", r."tenant", r."id") > (?1, ?2, ?3, ?4) AND (r."updated_at", r."version") <= (?5, ?6)
ORDER BY r."updated_at", r."version", r."tenant", r."id"
LIMIT 4096
) AS r
ORDER BY r."updated_at" DESC, r."version" DESC, r."tenant" DESC, r."id" DESC
LIMIT 1
-- parameters: updated_at, version, tenant, id, up to updated_at, up to version

-- the last row below a value
SELECT +r."updated_at", r."version", r."tenant", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."updated_at", r."version") < (?1, ?2)
ORDER BY r."updated_at" DESC, r."version" DESC, r."tenant" DESC, r."id" DESC
LIMIT 1
-- parameters: updated_at, version

-- any row from a value on
SELECT +r."updated_at", r."version", r."tenant", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."updated_at", r."version") >= (?1, ?2)
LIMIT 1
-- parameters: updated_at, version

-- stored times: text of another form, up to a value
SELECT +r."updated_at", r."version", r."tenant", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" >= ?1 AND r."updated_at" < ?2 AND NOT (length(r."updated_at") > 10 AND substr(r."updated_at", 11, 1) = ?4 AND substr(ltrim(substr(r."updated_at", 12), '0123456789:.'), 1, 6) = ?3 AND length(r."updated_at") = 20)
ORDER BY r."updated_at"
-- parameters: updated_at, updated_at, updated_at, updated_at

-- of all text
SELECT +r."updated_at", r."version", r."tenant", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" >= ?1 AND NOT (length(r."updated_at") > 10 AND substr(r."updated_at", 11, 1) = ?2 AND substr(ltrim(substr(r."updated_at", 12), '0123456789:.'), 1, 6) IN ('', '+00:00', '-00:00', '+00', ' +0000'))
ORDER BY r."updated_at"
-- parameters: updated_at, updated_at

-- of another offset
SELECT +r."updated_at", r."version", r."tenant", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" >= ?1 AND NOT (length(r."updated_at") > 10 AND substr(r."updated_at", 11, 1) = ?3 AND substr(ltrim(substr(r."updated_at", 12), '0123456789:.'), 1, 6) = ?2)
ORDER BY r."updated_at"
-- parameters: updated_at, updated_at, updated_at

-- all but dates
SELECT +r."updated_at", r."version", r."tenant", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" >= ?1 AND NOT (length(r."updated_at") = 10)
ORDER BY r."updated_at"
-- parameters: updated_at

-- numbers of a smaller unit
SELECT +r."updated_at", r."version", r."tenant", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" >= 1000000 AND r."updated_at" < ?1 AND (r."updated_at" < 6000000 OR r."updated_at" >= 100000000)
LIMIT 1
-- parameters: updated_at

-- values between two texts
SELECT +r."updated_at"
FROM "shop"."orders" AS r
WHERE r."updated_at" >= ?1 AND r."updated_at" < ?2
ORDER BY r."updated_at"
-- parameters: updated_at, updated_at

-- by one key
SELECT r."tenant", r."id", +r."updated_at", r."version", r."payload"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."tenant" = ?1 AND r."id" = ?2)
-- parameters: tenant, id

-- by two keys
SELECT r."tenant", r."id", +r."updated_at", r."version", r."payload"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."tenant" = ?1 AND r."id" = ?2
	OR r."tenant" = ?3 AND r."id" = ?4)
-- parameters: tenant, id, tenant, id

-- after a row, no order key of four
SELECT r."tenant", r."id", +r."updated_at", r."version", r."payload"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."updated_at", r."version", r."tenant", r."id") > (?1, ?2, ?3, ?4) AND (1 = 1
	AND (r."tenant" <> ?5 OR r."id" <> ?6 OR r."version" <> ?7)
	AND (r."tenant" IS NOT NULL OR r."id" IS NOT NULL OR r."version" IS NOT NULL)
	AND (r."tenant" <> ?8 OR r."id" <> ?9 OR r."version" <> ?10)
	AND (r."tenant" <> ?11 OR r."id" <> ?12 OR r."version" <> ?13))
ORDER BY r."updated_at", r."version", r."tenant", r."id"
LIMIT 2
-- parameters: updated_at, version, tenant, id, tenant, id, version, tenant, id, version, tenant, id, version

