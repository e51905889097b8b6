SELECT COUNT(*)
FROM `a.b`.`O'Brien"s [x] ``y``` AS r
WHERE r.`Select "x" [y] ``z`` 'é'` IS NULL
