-- after the beginning
SELECT r."id", r."note", r."c"
FROM "orders" AS r
WHERE r."c" < (statement_timestamp() + interval '7110 seconds')::date
ORDER BY r."c", r."id"
LIMIT 501
-- after a row
SELECT r."id", r."note", r."c"
FROM "orders" AS r
WHERE (r."c", r."id") > ($1::date, $2::int2) AND r."c" < (statement_timestamp() + interval '7110 seconds')::date
ORDER BY r."c", r."id"
LIMIT 501
-- parameter: c date
-- parameter: id int2
