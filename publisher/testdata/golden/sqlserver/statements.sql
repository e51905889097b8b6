-- look
SELECT COALESCE((SELECT 1 FROM [shop].[outbox] o WHERE o.state = 'PENDING' ORDER BY o.bucket, o.seq OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY), (SELECT 1 FROM [shop].[outbox] o WHERE o.state = 'FAILED' AND o.next_attempt_at <= SYSUTCDATETIME() ORDER BY o.next_attempt_at OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY), 0), COALESCE((SELECT 1 FROM [shop].[outbox] o WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') ORDER BY o.aggregate_type, o.aggregate_id, o.seq OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY), 0), (SELECT COALESCE(p.info, '') FROM [shop].[rowrelay_claims] p WHERE p.outbox = CAST(@p1 AS nvarchar(4000)) AND p.unit = 'pause'), (SELECT n.info FROM [shop].[rowrelay_claims] n WHERE n.outbox = CAST(@p2 AS nvarchar(4000)) AND n.unit = '*')
--   shop.outbox
--   shop.outbox

-- survey
SELECT unit, owner, info, CASE WHEN expires_at > SYSUTCDATETIME() THEN 1 ELSE 0 END FROM [shop].[rowrelay_claims] WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND unit NOT IN ('pause', 'cleanup')
--   shop.outbox

-- renew
UPDATE c SET expires_at = DATEADD(millisecond, CAST(@p1 AS int), SYSUTCDATETIME()) FROM OPENJSON(@p2) WITH (unit nvarchar(1000) '$.unit') AS r INNER LOOP JOIN [shop].[rowrelay_claims] AS c WITH (UPDLOCK, ROWLOCK) ON c.unit = r.unit COLLATE Latin1_General_100_BIN2 WHERE c.outbox = CAST(@p3 AS nvarchar(4000)) AND c.owner = CAST(@p4 AS nvarchar(4000)) AND c.expires_at > SYSUTCDATETIME();
SET @rows = @@ROWCOUNT
--   60000
--   [{"unit":"i:me"},{"unit":"p0"},{"unit":"p1"}]
--   shop.outbox
--   me

-- take
BEGIN
UPDATE [shop].[rowrelay_claims] WITH (ROWLOCK) SET token = token + 1 OUTPUT inserted.token WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND unit = '*'
--   shop.outbox
SELECT unit, owner, info, CASE WHEN expires_at > SYSUTCDATETIME() THEN 1 ELSE 0 END FROM [shop].[rowrelay_claims] WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND unit NOT IN ('pause', 'cleanup')
--   shop.outbox
DELETE c FROM OPENJSON(@p1) WITH (unit nvarchar(1000) '$.unit') AS r INNER LOOP JOIN [shop].[rowrelay_claims] AS c WITH (UPDLOCK, ROWLOCK) ON c.unit = r.unit COLLATE Latin1_General_100_BIN2 WHERE c.outbox = CAST(@p2 AS nvarchar(4000)) AND c.expires_at <= SYSUTCDATETIME();
SET @rows = @@ROWCOUNT
--   [{"unit":"i:old"}]
--   shop.outbox
SELECT unit, owner, info, CASE WHEN expires_at > SYSUTCDATETIME() THEN 1 ELSE 0 END FROM [shop].[rowrelay_claims] WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND unit NOT IN ('pause', 'cleanup')
--   shop.outbox
UPDATE [shop].[rowrelay_claims] SET info = CAST(@p1 AS nvarchar(4000)) WHERE outbox = CAST(@p2 AS nvarchar(4000)) AND unit = '*';
SET @rows = @@ROWCOUNT
--   {"partitions":32}
--   shop.outbox
INSERT INTO [shop].[rowrelay_claims] (outbox, unit, owner, token, expires_at) OUTPUT inserted.unit SELECT CAST(@p1 AS nvarchar(4000)), r.unit, CAST(@p2 AS nvarchar(4000)), @p3, DATEADD(millisecond, CAST(@p4 AS int), SYSUTCDATETIME()) FROM OPENJSON(@p5) WITH (unit nvarchar(1000) '$.unit') AS r WHERE NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims] AS c WHERE c.outbox = CAST(@p1 AS nvarchar(4000)) AND c.unit = r.unit COLLATE Latin1_General_100_BIN2)
--   shop.outbox
--   me
--   1
--   60000
--   [{"unit":"i:me"},{"unit":"p0"},{"unit":"p1"}]
UPDATE c SET owner = CAST(@p1 AS nvarchar(4000)), token = @p2, expires_at = DATEADD(millisecond, CAST(@p3 AS int), SYSUTCDATETIME()) OUTPUT inserted.unit FROM OPENJSON(@p4) WITH (unit nvarchar(1000) '$.unit') AS r INNER LOOP JOIN [shop].[rowrelay_claims] AS c WITH (ROWLOCK) ON c.unit = r.unit COLLATE Latin1_General_100_BIN2 WHERE c.outbox = CAST(@p5 AS nvarchar(4000)) AND (c.expires_at <= SYSUTCDATETIME() OR c.owner = CAST(@p1 AS nvarchar(4000)))
--   me
--   1
--   60000
--   [{"unit":"i:me"},{"unit":"p0"},{"unit":"p1"}]
--   shop.outbox
COMMIT

-- release two partitions
DELETE c FROM OPENJSON(@p1) WITH (unit nvarchar(1000) '$.unit') AS r INNER LOOP JOIN [shop].[rowrelay_claims] AS c WITH (UPDLOCK, ROWLOCK) ON c.unit = r.unit COLLATE Latin1_General_100_BIN2 WHERE c.outbox = CAST(@p2 AS nvarchar(4000)) AND c.owner = CAST(@p3 AS nvarchar(4000));
SET @rows = @@ROWCOUNT
--   [{"unit":"p0"},{"unit":"p1"}]
--   shop.outbox
--   me

-- release everything
SELECT unit FROM [shop].[rowrelay_claims] WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND owner = CAST(@p2 AS nvarchar(4000))
--   shop.outbox
--   me
DELETE c FROM OPENJSON(@p1) WITH (unit nvarchar(1000) '$.unit') AS r INNER LOOP JOIN [shop].[rowrelay_claims] AS c WITH (UPDLOCK, ROWLOCK) ON c.unit = r.unit COLLATE Latin1_General_100_BIN2 WHERE c.outbox = CAST(@p2 AS nvarchar(4000)) AND c.owner = CAST(@p3 AS nvarchar(4000));
SET @rows = @@ROWCOUNT
--   [{"unit":"p0"}]
--   shop.outbox
--   me

-- pause
BEGIN
UPDATE [shop].[rowrelay_claims] WITH (ROWLOCK) SET token = token + 1 OUTPUT inserted.token WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND unit = '*'
--   shop.outbox
DELETE FROM [shop].[rowrelay_claims] WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND unit = 'pause';
SET @rows = @@ROWCOUNT
--   shop.outbox
INSERT INTO [shop].[rowrelay_claims] (outbox, unit, owner, token, expires_at, info) VALUES (CAST(@p1 AS nvarchar(4000)), 'pause', '', 0, SYSUTCDATETIME(), CAST(@p2 AS nvarchar(4000)));
SET @rows = @@ROWCOUNT
--   shop.outbox
--   ann
COMMIT

-- resume
DELETE FROM [shop].[rowrelay_claims] WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND unit = 'pause';
SET @rows = @@ROWCOUNT
--   shop.outbox

-- fetch the whole table
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, (DATALENGTH(o.payload) / 2 + DATALENGTH(o.payload) % 2), CASE WHEN (DATALENGTH(o.payload) / 2 + DATALENGTH(o.payload) % 2) <= @p1 THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN SYSUTCDATETIME() END, CASE WHEN EXISTS (SELECT 1 FROM [shop].[outbox] b WHERE b.aggregate_type = o.aggregate_type COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_type + N'.') = LEN(o.aggregate_type + N'.') AND b.aggregate_id = o.aggregate_id COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_id + N'.') = LEN(o.aggregate_id + N'.') AND (DATALENGTH(o.aggregate_id) / 2 + DATALENGTH(o.aggregate_id) % 2) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT o.bucket, o.seq FROM [shop].[outbox] o WHERE o.state = 'PENDING' AND o.bucket >= @p2 AND o.bucket < @p3 ORDER BY o.bucket, o.seq OFFSET 0 ROWS FETCH NEXT @p4 ROWS ONLY) k INNER LOOP JOIN [shop].[outbox] o ON o.seq = k.seq ORDER BY k.bucket, k.seq
--   1048576
--   0
--   1024
--   501

-- fetch two ranges
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, (DATALENGTH(o.payload) / 2 + DATALENGTH(o.payload) % 2), CASE WHEN (DATALENGTH(o.payload) / 2 + DATALENGTH(o.payload) % 2) <= @p1 THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN SYSUTCDATETIME() END, CASE WHEN EXISTS (SELECT 1 FROM [shop].[outbox] b WHERE b.aggregate_type = o.aggregate_type COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_type + N'.') = LEN(o.aggregate_type + N'.') AND b.aggregate_id = o.aggregate_id COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_id + N'.') = LEN(o.aggregate_id + N'.') AND (DATALENGTH(o.aggregate_id) / 2 + DATALENGTH(o.aggregate_id) % 2) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT bucket, seq FROM (SELECT bucket, seq FROM (SELECT o.bucket, o.seq FROM [shop].[outbox] o WHERE o.state = 'PENDING' AND o.bucket >= @p2 AND o.bucket < @p3 ORDER BY o.bucket, o.seq OFFSET 0 ROWS FETCH NEXT @p4 ROWS ONLY) r0 UNION ALL SELECT bucket, seq FROM (SELECT o.bucket, o.seq FROM [shop].[outbox] o WHERE o.state = 'PENDING' AND o.bucket >= @p5 AND o.bucket < @p6 ORDER BY o.bucket, o.seq OFFSET 0 ROWS FETCH NEXT @p7 ROWS ONLY) r1) u ORDER BY bucket, seq OFFSET 0 ROWS FETCH NEXT @p8 ROWS ONLY) k INNER LOOP JOIN [shop].[outbox] o ON o.seq = k.seq ORDER BY k.bucket, k.seq
--   1048576
--   0
--   16
--   501
--   64
--   80
--   501
--   501

-- fetch two ranges by seq
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, (DATALENGTH(o.payload) / 2 + DATALENGTH(o.payload) % 2), CASE WHEN (DATALENGTH(o.payload) / 2 + DATALENGTH(o.payload) % 2) <= @p1 THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN SYSUTCDATETIME() END, CASE WHEN EXISTS (SELECT 1 FROM [shop].[outbox] b WHERE b.aggregate_type = o.aggregate_type COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_type + N'.') = LEN(o.aggregate_type + N'.') AND b.aggregate_id = o.aggregate_id COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_id + N'.') = LEN(o.aggregate_id + N'.') AND (DATALENGTH(o.aggregate_id) / 2 + DATALENGTH(o.aggregate_id) % 2) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT bucket, seq FROM (SELECT o.bucket, o.seq FROM [shop].[outbox] o WHERE o.state = 'PENDING' AND o.seq > @p2 ORDER BY o.seq OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY) f WHERE (1 = 0 OR f.bucket >= @p4 AND f.bucket < @p5 OR f.bucket >= @p6 AND f.bucket < @p7) ORDER BY f.seq OFFSET 0 ROWS FETCH NEXT @p8 ROWS ONLY) k INNER LOOP JOIN [shop].[outbox] o ON o.seq = k.seq ORDER BY k.seq
--   1048576
--   -9223372036854775808
--   1603
--   0
--   512
--   640
--   768
--   501

-- fetch the whole table by seq
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, (DATALENGTH(o.payload) / 2 + DATALENGTH(o.payload) % 2), CASE WHEN (DATALENGTH(o.payload) / 2 + DATALENGTH(o.payload) % 2) <= @p1 THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN SYSUTCDATETIME() END, CASE WHEN EXISTS (SELECT 1 FROM [shop].[outbox] b WHERE b.aggregate_type = o.aggregate_type COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_type + N'.') = LEN(o.aggregate_type + N'.') AND b.aggregate_id = o.aggregate_id COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_id + N'.') = LEN(o.aggregate_id + N'.') AND (DATALENGTH(o.aggregate_id) / 2 + DATALENGTH(o.aggregate_id) % 2) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT o.bucket, o.seq FROM [shop].[outbox] o WHERE o.state = 'PENDING' AND o.seq > @p2 ORDER BY o.seq OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY) k INNER LOOP JOIN [shop].[outbox] o ON o.seq = k.seq ORDER BY k.seq
--   1048576
--   -9223372036854775808
--   501

-- fetch in the order of the source
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, (DATALENGTH(o.payload) / 2 + DATALENGTH(o.payload) % 2), CASE WHEN (DATALENGTH(o.payload) / 2 + DATALENGTH(o.payload) % 2) <= @p1 THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN SYSUTCDATETIME() END, CASE WHEN EXISTS (SELECT 1 FROM [shop].[outbox] b WHERE b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT o.bucket, o.seq FROM [shop].[outbox] o WHERE o.state = 'PENDING' AND o.seq > @p2 ORDER BY o.seq OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY) k INNER LOOP JOIN [shop].[outbox] o ON o.seq = k.seq ORDER BY k.seq
--   1048576
--   -9223372036854775808
--   501

-- fetch without an order, dead letters not blocking
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, (DATALENGTH(o.payload) / 2 + DATALENGTH(o.payload) % 2), CASE WHEN (DATALENGTH(o.payload) / 2 + DATALENGTH(o.payload) % 2) <= @p1 THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN SYSUTCDATETIME() END, CASE WHEN 1 = 0 THEN 1 ELSE 0 END FROM (SELECT o.bucket, o.seq FROM [shop].[outbox] o WHERE o.state = 'PENDING' AND o.bucket >= @p2 AND o.bucket < @p3 ORDER BY o.bucket, o.seq OFFSET 0 ROWS FETCH NEXT @p4 ROWS ONLY) k INNER LOOP JOIN [shop].[outbox] o ON o.seq = k.seq ORDER BY k.bucket, k.seq
--   1048576
--   0
--   1024
--   501

-- due
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, (DATALENGTH(o.payload) / 2 + DATALENGTH(o.payload) % 2), CASE WHEN (DATALENGTH(o.payload) / 2 + DATALENGTH(o.payload) % 2) <= @p1 THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN SYSUTCDATETIME() END, 0 FROM [shop].[outbox] o WHERE o.state = 'FAILED' AND o.next_attempt_at <= SYSUTCDATETIME() AND (1 = 0 OR o.bucket >= @p2 AND o.bucket < @p3 OR o.bucket >= @p4 AND o.bucket < @p5) AND (NOT (DATALENGTH(o.aggregate_id) / 2 + DATALENGTH(o.aggregate_id) % 2) > 0 OR (SELECT b.seq FROM [shop].[outbox] b WHERE b.aggregate_type = o.aggregate_type COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_type + N'.') = LEN(o.aggregate_type + N'.') AND b.aggregate_id = o.aggregate_id COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_id + N'.') = LEN(o.aggregate_id + N'.') AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.seq OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY) = o.seq) ORDER BY o.next_attempt_at, o.seq OFFSET 0 ROWS FETCH NEXT @p6 ROWS ONLY
--   1048576
--   0
--   16
--   64
--   80
--   10
SELECT COALESCE(-MAX(DATEDIFF_BIG(millisecond, n.due, SYSUTCDATETIME())), -1) FROM (SELECT o.next_attempt_at AS due FROM [shop].[outbox] o WHERE o.state = 'FAILED' AND o.next_attempt_at > SYSUTCDATETIME() AND (1 = 0 OR o.bucket >= @p1 AND o.bucket < @p2 OR o.bucket >= @p3 AND o.bucket < @p4) ORDER BY o.next_attempt_at OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY) n
--   0
--   16
--   64
--   80

-- other
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, (DATALENGTH(o.payload) / 2 + DATALENGTH(o.payload) % 2), CASE WHEN (DATALENGTH(o.payload) / 2 + DATALENGTH(o.payload) % 2) <= @p1 THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN SYSUTCDATETIME() END, 0 FROM (SELECT o.bucket, o.seq FROM [shop].[outbox] o WHERE o.state = 'PENDING' AND o.bucket >= @p2 AND o.bucket < @p3 AND NOT (o.aggregate_type = CAST(@p4 AS nvarchar(4000)) COLLATE Latin1_General_100_BIN2 AND LEN(o.aggregate_type + N'.') = LEN(CAST(@p4 AS nvarchar(4000)) + N'.') AND o.aggregate_id = CAST(@p5 AS nvarchar(4000)) COLLATE Latin1_General_100_BIN2 AND LEN(o.aggregate_id + N'.') = LEN(CAST(@p5 AS nvarchar(4000)) + N'.')) AND NOT (o.aggregate_type = CAST(@p6 AS nvarchar(4000)) COLLATE Latin1_General_100_BIN2 AND LEN(o.aggregate_type + N'.') = LEN(CAST(@p6 AS nvarchar(4000)) + N'.') AND o.aggregate_id = CAST(@p7 AS nvarchar(4000)) COLLATE Latin1_General_100_BIN2 AND LEN(o.aggregate_id + N'.') = LEN(CAST(@p7 AS nvarchar(4000)) + N'.')) AND NOT EXISTS (SELECT 1 FROM [shop].[outbox] b WHERE b.aggregate_type = o.aggregate_type COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_type + N'.') = LEN(o.aggregate_type + N'.') AND b.aggregate_id = o.aggregate_id COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_id + N'.') = LEN(o.aggregate_id + N'.') AND (DATALENGTH(o.aggregate_id) / 2 + DATALENGTH(o.aggregate_id) % 2) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o.bucket, o.seq OFFSET 0 ROWS FETCH NEXT @p8 ROWS ONLY) k INNER LOOP JOIN [shop].[outbox] o ON o.seq = k.seq ORDER BY k.bucket, k.seq
--   1048576
--   0
--   16
--   O
--   1
--   O
--   2
--   1

-- again
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, (DATALENGTH(o.payload) / 2 + DATALENGTH(o.payload) % 2), CASE WHEN (DATALENGTH(o.payload) / 2 + DATALENGTH(o.payload) % 2) <= @p1 THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN SYSUTCDATETIME() END, 0 FROM (SELECT o.bucket, o.seq FROM [shop].[outbox] o WHERE o.seq IN (SELECT CAST(j.value AS bigint) FROM OPENJSON(@p2) AS j) AND o.state = 'PENDING' AND NOT EXISTS (SELECT 1 FROM [shop].[outbox] b WHERE b.aggregate_type = o.aggregate_type COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_type + N'.') = LEN(o.aggregate_type + N'.') AND b.aggregate_id = o.aggregate_id COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_id + N'.') = LEN(o.aggregate_id + N'.') AND (DATALENGTH(o.aggregate_id) / 2 + DATALENGTH(o.aggregate_id) % 2) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING'))) k INNER LOOP JOIN [shop].[outbox] o ON o.seq = k.seq ORDER BY k.bucket, k.seq
--   1048576
--   [1,2]

-- settle published
UPDATE o SET state = 'PUBLISHED', published_at = SYSUTCDATETIME(), next_attempt_at = NULL FROM OPENJSON(@p1) WITH (seq bigint '$.seq') AS r INNER LOOP JOIN [shop].[outbox] AS o WITH (ROWLOCK) ON o.seq = r.seq WHERE 1 = 1 AND state IN ('PENDING', 'FAILED') AND (SELECT COUNT(*) FROM [shop].[rowrelay_claims] WHERE outbox = CAST(@p2 AS nvarchar(4000)) AND owner = CAST(@p3 AS nvarchar(4000)) AND unit NOT LIKE 'i:%' AND expires_at > SYSUTCDATETIME()) >= @p4;
SET @rows = @@ROWCOUNT
--   [{"seq":1},{"seq":2}]
--   shop.outbox
--   me
--   1
SELECT o.seq FROM [shop].[outbox] o WHERE o.seq IN (SELECT CAST(j.value AS bigint) FROM OPENJSON(@p1) AS j) AND o.state IN ('PENDING', 'FAILED')
--   [1,2]

-- settle everything else
BEGIN
SELECT unit FROM [shop].[rowrelay_claims] WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND owner = CAST(@p2 AS nvarchar(4000)) AND unit NOT LIKE 'i:%' AND expires_at > SYSUTCDATETIME()
--   shop.outbox
--   me
SELECT c.unit FROM OPENJSON(@p1) WITH (unit nvarchar(1000) '$.unit') AS r INNER LOOP JOIN [shop].[rowrelay_claims] AS c WITH (UPDLOCK, ROWLOCK) ON c.unit = r.unit COLLATE Latin1_General_100_BIN2 WHERE c.outbox = CAST(@p2 AS nvarchar(4000)) AND c.owner = CAST(@p3 AS nvarchar(4000)) AND c.expires_at > SYSUTCDATETIME() ORDER BY c.unit
--   [{"unit":"p0"}]
--   shop.outbox
--   me
UPDATE o SET state = 'PUBLISHED', published_at = SYSUTCDATETIME(), next_attempt_at = NULL FROM OPENJSON(@p1) WITH (seq bigint '$.seq') AS r INNER LOOP JOIN [shop].[outbox] AS o WITH (ROWLOCK) ON o.seq = r.seq WHERE 1 = 1 AND state IN ('PENDING', 'FAILED');
SET @rows = @@ROWCOUNT
--   [{"seq":1},{"seq":1}]
SELECT o.seq FROM [shop].[outbox] o WHERE o.seq IN (SELECT CAST(j.value AS bigint) FROM OPENJSON(@p1) AS j) AND o.state IN ('PENDING', 'FAILED')
--   [1,1]
UPDATE o SET state = CASE WHEN f.dead = 1 THEN 'DEAD LETTER' ELSE 'FAILED' END, retry_count = f.attempts, last_error = f.reason, next_attempt_at = CASE WHEN f.dead = 1 THEN NULL ELSE DATEADD(millisecond, CAST(f.pause AS int), SYSUTCDATETIME()) END FROM OPENJSON(@p1) WITH (seq bigint '$.seq', attempts bigint '$.attempts', pause bigint '$.pause', dead bigint '$.dead', reason nvarchar(1000) '$.reason') AS f INNER LOOP JOIN [shop].[outbox] AS o WITH (ROWLOCK) ON o.seq = f.seq AND o.retry_count IN (f.attempts - 1, f.attempts) AND o.state IN ('PENDING', 'FAILED');
SET @rows = @@ROWCOUNT
--   [{"seq":1,"attempts":2,"pause":5000,"dead":0,"reason":"refused"}]
SELECT o.seq FROM [shop].[outbox] o WHERE o.seq IN (SELECT CAST(j.value AS bigint) FROM OPENJSON(@p1) AS j) AND EXISTS (SELECT 1 FROM [shop].[outbox] b WHERE b.aggregate_type = o.aggregate_type COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_type + N'.') = LEN(o.aggregate_type + N'.') AND b.aggregate_id = o.aggregate_id COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_id + N'.') = LEN(o.aggregate_id + N'.') AND (DATALENGTH(o.aggregate_id) / 2 + DATALENGTH(o.aggregate_id) % 2) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING')
--   [1]
UPDATE o SET state = 'WAITING' FROM OPENJSON(@p1) WITH (seq bigint '$.seq') AS r INNER LOOP JOIN [shop].[outbox] AS o WITH (ROWLOCK) ON o.seq = r.seq WHERE 1 = 1 AND state IN ('PENDING');
SET @rows = @@ROWCOUNT
--   [{"seq":1}]
SELECT a.typ, a.id, (SELECT b.seq FROM [shop].[outbox] b WHERE b.aggregate_type = a.typ COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_type + N'.') = LEN(a.typ + N'.') AND b.aggregate_id = a.id COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_id + N'.') = LEN(a.id + N'.') AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.seq OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY), (SELECT b.seq FROM [shop].[outbox] b WHERE b.aggregate_type = a.typ COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_type + N'.') = LEN(a.typ + N'.') AND b.aggregate_id = a.id COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_id + N'.') = LEN(a.id + N'.') AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state = 'WAITING' ORDER BY b.seq OFFSET 4000 ROWS FETCH NEXT 1 ROWS ONLY) FROM OPENJSON(@p1) WITH (typ nvarchar(1000) '$.typ', id nvarchar(1000) '$.id') AS a
--   [{"typ":"O","id":"1"}]
UPDATE o SET state = 'PENDING' FROM OPENJSON(@p1) WITH (typ nvarchar(1000) '$.typ', id nvarchar(1000) '$.id', head bigint '$.head') AS h INNER LOOP JOIN [shop].[outbox] AS o WITH (ROWLOCK) ON o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' AND o.seq < h.head AND o.aggregate_type = h.typ COLLATE Latin1_General_100_BIN2 AND LEN(o.aggregate_type + N'.') = LEN(h.typ + N'.') AND o.aggregate_id = h.id COLLATE Latin1_General_100_BIN2 AND LEN(o.aggregate_id + N'.') = LEN(h.id + N'.');
SET @rows = @@ROWCOUNT
--   [{"typ":"O","id":"1","head":9}]
COMMIT

-- settle what has a time
BEGIN
SELECT unit FROM [shop].[rowrelay_claims] WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND owner = CAST(@p2 AS nvarchar(4000)) AND unit NOT LIKE 'i:%' AND expires_at > SYSUTCDATETIME()
--   shop.outbox
--   me
SELECT c.unit FROM OPENJSON(@p1) WITH (unit nvarchar(1000) '$.unit') AS r INNER LOOP JOIN [shop].[rowrelay_claims] AS c WITH (UPDLOCK, ROWLOCK) ON c.unit = r.unit COLLATE Latin1_General_100_BIN2 WHERE c.outbox = CAST(@p2 AS nvarchar(4000)) AND c.owner = CAST(@p3 AS nvarchar(4000)) AND c.expires_at > SYSUTCDATETIME() ORDER BY c.unit
--   [{"unit":"p0"}]
--   shop.outbox
--   me
UPDATE o SET state = CASE WHEN f.dead = 1 THEN 'DEAD LETTER' ELSE 'FAILED' END, retry_count = f.attempts, last_error = f.reason, next_attempt_at = CASE WHEN f.dead = 1 THEN NULL ELSE DATEADD(millisecond, CAST(f.pause AS int), SYSUTCDATETIME()) END FROM OPENJSON(@p1) WITH (seq bigint '$.seq', attempts bigint '$.attempts', pause bigint '$.pause', dead bigint '$.dead', reason nvarchar(1000) '$.reason') AS f INNER LOOP JOIN [shop].[outbox] AS o WITH (ROWLOCK) ON o.seq = f.seq AND o.retry_count IN (f.attempts - 1, f.attempts) AND o.state IN ('PENDING', 'FAILED');
SET @rows = @@ROWCOUNT
--   [{"seq":1,"attempts":0,"pause":3600000,"dead":0,"reason":"later"}]
UPDATE o SET state = 'PENDING', next_attempt_at = NULL, last_error = NULL FROM OPENJSON(@p1) WITH (seq bigint '$.seq') AS r INNER LOOP JOIN [shop].[outbox] AS o WITH (ROWLOCK) ON o.seq = r.seq WHERE 1 = 1 AND state IN ('FAILED');
SET @rows = @@ROWCOUNT
--   [{"seq":1}]
UPDATE o SET state = 'DISCARDED', published_at = SYSUTCDATETIME(), next_attempt_at = NULL, last_error = 'expired' FROM OPENJSON(@p1) WITH (seq bigint '$.seq') AS r INNER LOOP JOIN [shop].[outbox] AS o WITH (ROWLOCK) ON o.seq = r.seq WHERE 1 = 1 AND state IN ('PENDING', 'FAILED');
SET @rows = @@ROWCOUNT
--   [{"seq":1}]
SELECT a.typ, a.id, (SELECT b.seq FROM [shop].[outbox] b WHERE b.aggregate_type = a.typ COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_type + N'.') = LEN(a.typ + N'.') AND b.aggregate_id = a.id COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_id + N'.') = LEN(a.id + N'.') AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.seq OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY), (SELECT b.seq FROM [shop].[outbox] b WHERE b.aggregate_type = a.typ COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_type + N'.') = LEN(a.typ + N'.') AND b.aggregate_id = a.id COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_id + N'.') = LEN(a.id + N'.') AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state = 'WAITING' ORDER BY b.seq OFFSET 2000 ROWS FETCH NEXT 1 ROWS ONLY) FROM OPENJSON(@p1) WITH (typ nvarchar(1000) '$.typ', id nvarchar(1000) '$.id') AS a
--   [{"typ":"O","id":"1"},{"typ":"O","id":"1"}]
UPDATE o SET state = 'PENDING' FROM OPENJSON(@p1) WITH (typ nvarchar(1000) '$.typ', id nvarchar(1000) '$.id', head bigint '$.head') AS h INNER LOOP JOIN [shop].[outbox] AS o WITH (ROWLOCK) ON o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' AND o.seq < h.head AND o.aggregate_type = h.typ COLLATE Latin1_General_100_BIN2 AND LEN(o.aggregate_type + N'.') = LEN(h.typ + N'.') AND o.aggregate_id = h.id COLLATE Latin1_General_100_BIN2 AND LEN(o.aggregate_id + N'.') = LEN(h.id + N'.');
SET @rows = @@ROWCOUNT
--   [{"typ":"O","id":"1","head":9}]
COMMIT

-- settle a retry in the order of the source
BEGIN
SELECT unit FROM [shop].[rowrelay_claims] WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND owner = CAST(@p2 AS nvarchar(4000)) AND unit NOT LIKE 'i:%' AND expires_at > SYSUTCDATETIME()
--   shop.outbox
--   me
SELECT c.unit FROM OPENJSON(@p1) WITH (unit nvarchar(1000) '$.unit') AS r INNER LOOP JOIN [shop].[rowrelay_claims] AS c WITH (UPDLOCK, ROWLOCK) ON c.unit = r.unit COLLATE Latin1_General_100_BIN2 WHERE c.outbox = CAST(@p2 AS nvarchar(4000)) AND c.owner = CAST(@p3 AS nvarchar(4000)) AND c.expires_at > SYSUTCDATETIME() ORDER BY c.unit
--   [{"unit":"p0"}]
--   shop.outbox
--   me
UPDATE o SET state = 'PUBLISHED', published_at = SYSUTCDATETIME(), next_attempt_at = NULL FROM OPENJSON(@p1) WITH (seq bigint '$.seq') AS r INNER LOOP JOIN [shop].[outbox] AS o WITH (ROWLOCK) ON o.seq = r.seq WHERE 1 = 1 AND state IN ('PENDING', 'FAILED');
SET @rows = @@ROWCOUNT
--   [{"seq":1}]
SELECT o.seq FROM [shop].[outbox] o WHERE o.seq IN (SELECT CAST(j.value AS bigint) FROM OPENJSON(@p1) AS j) AND EXISTS (SELECT 1 FROM [shop].[outbox] b WHERE b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING')
--   [1]
UPDATE o SET state = 'WAITING' FROM OPENJSON(@p1) WITH (seq bigint '$.seq') AS r INNER LOOP JOIN [shop].[outbox] AS o WITH (ROWLOCK) ON o.seq = r.seq WHERE 1 = 1 AND state IN ('PENDING');
SET @rows = @@ROWCOUNT
--   [{"seq":1}]
SELECT a.typ, a.id, (SELECT b.seq FROM [shop].[outbox] b WHERE 1 = 1 AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.seq OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY), (SELECT b.seq FROM [shop].[outbox] b WHERE 1 = 1 AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state = 'WAITING' ORDER BY b.seq OFFSET 4000 ROWS FETCH NEXT 1 ROWS ONLY) FROM OPENJSON(@p1) WITH (typ nvarchar(1000) '$.typ', id nvarchar(1000) '$.id') AS a
--   [{"typ":"","id":""}]
UPDATE o SET state = 'PENDING' FROM OPENJSON(@p1) WITH (typ nvarchar(1000) '$.typ', id nvarchar(1000) '$.id', head bigint '$.head') AS h INNER LOOP JOIN [shop].[outbox] AS o WITH (ROWLOCK) ON o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' AND o.seq < h.head;
SET @rows = @@ROWCOUNT
--   [{"typ":"O","id":"1","head":9}]
COMMIT

-- mend
SELECT DISTINCT o.aggregate_type, o.aggregate_id FROM [shop].[outbox] o WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING'
SELECT a.typ, a.id, (SELECT b.seq FROM [shop].[outbox] b WHERE b.aggregate_type = a.typ COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_type + N'.') = LEN(a.typ + N'.') AND b.aggregate_id = a.id COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_id + N'.') = LEN(a.id + N'.') AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.seq OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY), (SELECT b.seq FROM [shop].[outbox] b WHERE b.aggregate_type = a.typ COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_type + N'.') = LEN(a.typ + N'.') AND b.aggregate_id = a.id COLLATE Latin1_General_100_BIN2 AND LEN(b.aggregate_id + N'.') = LEN(a.id + N'.') AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state = 'WAITING' ORDER BY b.seq OFFSET 4000 ROWS FETCH NEXT 1 ROWS ONLY) FROM OPENJSON(@p1) WITH (typ nvarchar(1000) '$.typ', id nvarchar(1000) '$.id') AS a
--   [{"typ":"O","id":"1"}]
UPDATE o SET state = 'PENDING' FROM OPENJSON(@p1) WITH (typ nvarchar(1000) '$.typ', id nvarchar(1000) '$.id', head bigint '$.head') AS h INNER LOOP JOIN [shop].[outbox] AS o WITH (ROWLOCK) ON o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' AND o.seq < h.head AND o.aggregate_type = h.typ COLLATE Latin1_General_100_BIN2 AND LEN(o.aggregate_type + N'.') = LEN(h.typ + N'.') AND o.aggregate_id = h.id COLLATE Latin1_General_100_BIN2 AND LEN(o.aggregate_id + N'.') = LEN(h.id + N'.');
SET @rows = @@ROWCOUNT
--   [{"typ":"O","id":"1","head":9}]

-- work
SELECT bucket FROM (SELECT o.bucket FROM [shop].[outbox] o WHERE o.state = 'FAILED' AND o.next_attempt_at <= SYSUTCDATETIME() ORDER BY o.next_attempt_at OFFSET 0 ROWS FETCH NEXT 1000 ROWS ONLY) n UNION ALL SELECT bucket FROM (SELECT o.bucket, o.seq FROM [shop].[outbox] o WHERE o.state = 'PENDING' AND o.bucket >= 0 AND o.bucket < 512 ORDER BY o.bucket, o.seq OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY) r0 UNION ALL SELECT bucket FROM (SELECT o.bucket, o.seq FROM [shop].[outbox] o WHERE o.state = 'PENDING' AND o.bucket >= 512 AND o.bucket < 1024 ORDER BY o.bucket, o.seq OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY) r1

-- figures
SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[outbox] o WHERE o.state = 'PENDING' ORDER BY o.bucket, o.seq OFFSET 0 ROWS FETCH NEXT @p1 ROWS ONLY) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[outbox] o WHERE o.state = 'FAILED' AND o.retry_count = 0 AND o.next_attempt_at > SYSUTCDATETIME() ORDER BY o.next_attempt_at OFFSET 0 ROWS FETCH NEXT @p2 ROWS ONLY) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[outbox] o WHERE o.state = 'FAILED' AND NOT (o.retry_count = 0 AND o.next_attempt_at > SYSUTCDATETIME()) ORDER BY o.next_attempt_at OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[outbox] o WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' ORDER BY o.aggregate_type, o.aggregate_id, o.seq OFFSET 0 ROWS FETCH NEXT @p4 ROWS ONLY) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[outbox] o WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'DEAD LETTER' ORDER BY o.aggregate_type, o.aggregate_id, o.seq OFFSET 0 ROWS FETCH NEXT @p5 ROWS ONLY) n), (SELECT a.created_at FROM [shop].[outbox] a WHERE a.seq = (SELECT MIN(h.seq) FROM (SELECT (SELECT o.seq FROM [shop].[outbox] o WHERE o.state = 'PENDING' AND o.bucket >= r.b AND o.bucket <= r.b ORDER BY o.bucket, o.seq OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY) AS seq FROM OPENJSON(@p6) WITH (b bigint '$.b') AS r) h)), SYSUTCDATETIME()
--   100001
--   100001
--   100001
--   100001
--   100001
--   [{"b":0},{"b":1},{"b":2},{"b":3},{"b":4},{"b":5},{"b":6},{"b":7},{"b":8},{"b":9},{"b":10},{"b":11},{

