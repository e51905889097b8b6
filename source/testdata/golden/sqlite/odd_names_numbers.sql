SELECT r."Select ""x"" [y] `z` 'é'", r."id"
FROM "a.b"."O'Brien""s [x] `y`" AS r
WHERE r."Select ""x"" [y] `z` 'é'" < ''
LIMIT 1
