-- session
SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCK_TIMEOUT 28500

-- life
SELECT CAST(SERVERPROPERTY(N'EngineEdition') AS int), CAST(SERVERPROPERTY(N'ProductVersion') AS nvarchar(128)),
	CAST(DATABASEPROPERTYEX(DB_NAME(), N'Updateability') AS nvarchar(128)), CONVERT(nvarchar(33), d.create_date, 126)
FROM sys.databases AS d
WHERE d.name = DB_NAME()

-- recovery fork
SELECT CAST(r.recovery_fork_guid AS nvarchar(36))
FROM sys.database_recovery_status AS r
WHERE r.database_id = DB_ID()

-- availability group
SELECT CAST(d.group_database_id AS nvarchar(36))
FROM sys.databases AS d
WHERE d.name = DB_NAME()

-- service broker
SELECT CAST(d.service_broker_guid AS nvarchar(36))
FROM sys.databases AS d
WHERE d.name = DB_NAME()

-- geo-replication
SELECT CAST(l.link_guid AS nvarchar(36))
FROM sys.dm_geo_replication_link_status AS l
ORDER BY l.link_guid

-- object 
SELECT s.name, o.name, RTRIM(o.type), COALESCE(n.base_object_name, N''), DB_NAME(), CAST(o.object_id AS nvarchar(11))
FROM sys.objects AS o
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
LEFT JOIN sys.synonyms AS n ON n.object_id = o.object_id
WHERE o.object_id = OBJECT_ID(@p1)

-- columns 
SELECT c.name, COALESCE(b.name, u.name), CAST(c.max_length AS int), CAST(c.precision AS int), CAST(c.scale AS int),
	COALESCE(c.collation_name, N''), c.is_nullable, u.is_assembly_type, CAST(CASE WHEN c.encryption_type IS NULL THEN 0 ELSE 1 END AS bit), c.is_masked,
	CAST(CASE WHEN c.generated_always_type <> 0 THEN 1 ELSE 0 END AS bit),
	CAST(CASE WHEN c.is_computed = 1 OR c.is_identity = 1 OR c.generated_always_type <> 0 THEN 1 ELSE 0 END AS bit),
	c.is_computed
FROM sys.columns AS c
JOIN sys.types AS u ON u.user_type_id = c.user_type_id
LEFT JOIN sys.types AS b ON b.user_type_id = c.system_type_id AND u.is_assembly_type = 0
WHERE c.object_id = OBJECT_ID(@p1)
ORDER BY c.column_id

-- indexes 
SELECT i.name, CAST(i.type AS int), i.is_unique, i.is_primary_key,
	CAST(CASE WHEN i.has_filter = 1 OR i.is_disabled = 1 THEN 1 ELSE 0 END AS bit), c.name, k.is_descending_key
FROM sys.indexes AS i
JOIN sys.index_columns AS k ON k.object_id = i.object_id AND k.index_id = i.index_id
JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
WHERE i.object_id = OBJECT_ID(@p1) AND i.type IN (1, 2, 7) AND i.is_hypothetical = 0 AND k.key_ordinal > 0
ORDER BY i.type, i.index_id, k.key_ordinal

-- policies 
SELECT y.name
FROM sys.security_predicates AS p
JOIN sys.security_policies AS y ON y.object_id = p.object_id
WHERE p.target_object_id = OBJECT_ID(@p1) AND p.predicate_type = 0 AND y.is_enabled = 1
ORDER BY y.name

-- object [sh]]op].
SELECT s.name, o.name, RTRIM(o.type), COALESCE(n.base_object_name, N''), DB_NAME(), CAST(o.object_id AS nvarchar(11))
FROM [sh]]op].sys.objects AS o
JOIN [sh]]op].sys.schemas AS s ON s.schema_id = o.schema_id
LEFT JOIN [sh]]op].sys.synonyms AS n ON n.object_id = o.object_id
WHERE o.object_id = OBJECT_ID(@p1)

-- columns [sh]]op].
SELECT c.name, COALESCE(b.name, u.name), CAST(c.max_length AS int), CAST(c.precision AS int), CAST(c.scale AS int),
	COALESCE(c.collation_name, N''), c.is_nullable, u.is_assembly_type, CAST(CASE WHEN c.encryption_type IS NULL THEN 0 ELSE 1 END AS bit), c.is_masked,
	CAST(CASE WHEN c.generated_always_type <> 0 THEN 1 ELSE 0 END AS bit),
	CAST(CASE WHEN c.is_computed = 1 OR c.is_identity = 1 OR c.generated_always_type <> 0 THEN 1 ELSE 0 END AS bit),
	c.is_computed
FROM [sh]]op].sys.columns AS c
JOIN [sh]]op].sys.types AS u ON u.user_type_id = c.user_type_id
LEFT JOIN [sh]]op].sys.types AS b ON b.user_type_id = c.system_type_id AND u.is_assembly_type = 0
WHERE c.object_id = OBJECT_ID(@p1)
ORDER BY c.column_id

-- indexes [sh]]op].
SELECT i.name, CAST(i.type AS int), i.is_unique, i.is_primary_key,
	CAST(CASE WHEN i.has_filter = 1 OR i.is_disabled = 1 THEN 1 ELSE 0 END AS bit), c.name, k.is_descending_key
FROM [sh]]op].sys.indexes AS i
JOIN [sh]]op].sys.index_columns AS k ON k.object_id = i.object_id AND k.index_id = i.index_id
JOIN [sh]]op].sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
WHERE i.object_id = OBJECT_ID(@p1) AND i.type IN (1, 2, 7) AND i.is_hypothetical = 0 AND k.key_ordinal > 0
ORDER BY i.type, i.index_id, k.key_ordinal

-- policies [sh]]op].
SELECT y.name
FROM [sh]]op].sys.security_predicates AS p
JOIN [sh]]op].sys.security_policies AS y ON y.object_id = p.object_id
WHERE p.target_object_id = OBJECT_ID(@p1) AND p.predicate_type = 0 AND y.is_enabled = 1
ORDER BY y.name

-- which object
SELECT CAST(OBJECT_ID(@p1) AS nvarchar(11))

-- describe
SELECT COALESCE(d.name, N''), COALESCE(d.system_type_name, d.user_type_name, N''), CAST(COALESCE(d.max_length, 0) AS int),
	CAST(COALESCE(d.precision, 0) AS int), CAST(COALESCE(d.scale, 0) AS int), COALESCE(d.collation_name, N''), COALESCE(d.is_nullable, 1),
	CAST(CASE WHEN d.assembly_qualified_type_name IS NULL THEN 0 ELSE 1 END AS bit), COALESCE(d.error_number, 0), COALESCE(d.error_message, N'')
FROM sys.dm_exec_describe_first_result_set(@p1, NULL, 0) AS d
WHERE COALESCE(d.is_hidden, 0) = 0
ORDER BY d.column_ordinal

-- identity
SELECT CAST(IDENT_CURRENT(@p1) AS nvarchar(40)), CAST(COALESCE(i.is_not_for_replication, 0) AS bit)
FROM sys.identity_columns AS i
WHERE i.object_id = OBJECT_ID(@p1) AND i.name = @p2 AND CAST(i.increment_value AS numeric(38)) > 0

-- identity elsewhere
SELECT CAST(IDENT_CURRENT(@p1) AS nvarchar(40)), CAST(COALESCE(i.is_not_for_replication, 0) AS bit)
FROM [sh]]op].sys.identity_columns AS i
WHERE i.object_id = OBJECT_ID(@p1) AND i.name = @p2 AND CAST(i.increment_value AS numeric(38)) > 0

-- rowversion
SELECT CAST(@@DBTS AS binary(8))

-- described text
SELECT r.*
FROM (
SELECT 1 AS a -- comment
) AS r

