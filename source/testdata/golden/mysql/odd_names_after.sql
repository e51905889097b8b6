SELECT r.`Select "x" [y] ``z`` 'é'`
FROM `a.b`.`O'Brien"s [x] ``y``` AS r
WHERE r.`Select "x" [y] ``z`` 'é'` IS NOT NULL AND r.`Select "x" [y] ``z`` 'é'` >= ? AND (r.`Select "x" [y] ``z`` 'é'` > ? OR (r.`Select "x" [y] ``z`` 'é'` = ? AND r.`id` > ?))
ORDER BY r.`Select "x" [y] ``z`` 'é'`, r.`id`
LIMIT 501
-- parameters: Select "x" [y] `z` 'é', Select "x" [y] `z` 'é', Select "x" [y] `z` 'é', id
