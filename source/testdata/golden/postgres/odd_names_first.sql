SELECT r."Select ""x"" [y] `z` 'é'"
FROM "a.b"."O'Brien""s [x] `y`" AS r
WHERE r."Select ""x"" [y] `z` 'é'" IS NOT NULL
ORDER BY r."Select ""x"" [y] `z` 'é'", r."id"
LIMIT 501
