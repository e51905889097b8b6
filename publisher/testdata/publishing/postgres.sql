-- What commit 964bf901 (22 November 2026) left behind: its `outbox init --apply` made the tables, and `rowrelay run` with
-- source__strategy=skip_locked published 1, gave 2 up (max_attempts=1), sent 4 to 6, and was killed by SIGKILL before the
-- receiver answered; the application wrote two more. Dumped by pg_dump --inserts, without what only its client reads.
CREATE TABLE public.outbox (
    seq bigint NOT NULL,
    id bigint GENERATED ALWAYS AS (seq) STORED NOT NULL,
    aggregate_type character varying(255) NOT NULL,
    aggregate_id character varying(255) NOT NULL,
    event_type character varying(255) NOT NULL,
    payload text NOT NULL,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    published boolean GENERATED ALWAYS AS (((state)::text = 'PUBLISHED'::text)) STORED NOT NULL,
    published_at timestamp with time zone,
    retry_count integer DEFAULT 0 NOT NULL,
    idempotency_key character varying(255) NOT NULL,
    state character varying(16) DEFAULT 'PENDING'::character varying NOT NULL,
    next_attempt_at timestamp with time zone,
    last_error character varying(1000),
    bucket smallint GENERATED ALWAYS AS (((((('x'::text || substr(md5((aggregate_id)::text), 1, 3)))::bit(12))::integer & 1023))::smallint) STORED NOT NULL,
    traceparent character varying(255),
    tracestate character varying(1000),
    CONSTRAINT outbox_state_check CHECK (((state)::text = ANY ((ARRAY['PENDING'::character varying, 'PUBLISHING'::character varying, 'PUBLISHED'::character varying, 'FAILED'::character varying, 'WAITING'::character varying, 'DEAD LETTER'::character varying, 'DISCARDED'::character varying])::text[])))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='20000', autovacuum_analyze_scale_factor='0', autovacuum_analyze_threshold='20000');
ALTER TABLE public.outbox ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.outbox_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.rowrelay_claims (
    outbox character varying(190) NOT NULL,
    unit character varying(255) NOT NULL,
    owner character varying(255) NOT NULL,
    token bigint NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    info character varying(1000)
)
WITH (fillfactor='50');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (1, DEFAULT, 'Order', 'a', 'Happened', '{"n": 1}', '2026-11-28 06:46:11.78924-05', DEFAULT, '2026-11-28 06:46:13.25234-05', 0, 'key-1', 'PUBLISHED', NULL, NULL, DEFAULT, NULL, NULL);
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (2, DEFAULT, 'Order', 'b', 'Happened', '{"n": 2, "refuse": true}', '2026-11-28 06:46:11.932718-05', DEFAULT, NULL, 1, 'key-2', 'DEAD LETTER', NULL, 'http://127.0.0.1:34675 answered 422 Unprocessable Entity', DEFAULT, NULL, NULL);
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (3, DEFAULT, 'Order', 'b', 'Happened', '{"n": 3}', '2026-11-28 06:46:12.060953-05', DEFAULT, NULL, 0, 'key-3', 'WAITING', NULL, NULL, DEFAULT, NULL, NULL);
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (5, DEFAULT, 'Order', 'c', 'Happened', '{"n": 5}', '2026-11-28 06:46:13.783279-05', DEFAULT, NULL, 0, 'key-5', 'PUBLISHING', NULL, NULL, DEFAULT, NULL, NULL);
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (6, DEFAULT, 'Order', 'c', 'Happened', '{"n": 6}', '2026-11-28 06:46:13.849198-05', DEFAULT, NULL, 0, 'key-6', 'PUBLISHING', NULL, NULL, DEFAULT, NULL, NULL);
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (4, DEFAULT, 'Order', 'a', 'Happened', '{"n": 4}', '2026-11-28 06:46:13.715477-05', DEFAULT, NULL, 0, 'key-4', 'PUBLISHING', NULL, NULL, DEFAULT, NULL, NULL);
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (7, DEFAULT, 'Order', 'd', 'Happened', '{"n": 7}', '2026-11-28 06:46:13.90073-05', DEFAULT, NULL, 0, 'key-7', 'PENDING', NULL, NULL, DEFAULT, NULL, NULL);
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (8, DEFAULT, 'Order', 'a', 'Happened', '{"n": 8}', '2026-11-28 06:46:15.195424-05', DEFAULT, NULL, 0, 'key-8', 'PENDING', NULL, NULL, DEFAULT, NULL, NULL);
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (9, DEFAULT, 'Order', 'e', 'Happened', '{"n": 9}', '2026-11-28 06:46:15.334694-05', DEFAULT, NULL, 0, 'key-9', 'PENDING', NULL, NULL, DEFAULT, NULL, NULL);
INSERT INTO public.rowrelay_claims VALUES ('public.outbox', '*', '', 4, '2026-11-28 06:46:13.197112-05', '{"strategy":"skip_locked"}');
INSERT INTO public.rowrelay_claims VALUES ('public.outbox', 'a:a240fa27925a635b08dc28c9e4f9216d0cc175b9c0f1b6a831c399e269772661', 'shop/vm-18679#f8f12d25', 3, '2026-11-28 06:46:17.184318-05', '{"id":"a","type":"Order"}');
INSERT INTO public.rowrelay_claims VALUES ('public.outbox', 'a:a240fa27925a635b08dc28c9e4f9216d4a8a08f09d37b73795649038408b5f33', 'shop/vm-18679#f8f12d25', 3, '2026-11-28 06:46:17.184318-05', '{"id":"c","type":"Order"}');
INSERT INTO public.rowrelay_claims VALUES ('public.outbox', 'i:shop/vm-18679#f8f12d25', 'shop/vm-18679#f8f12d25', 0, '2026-11-28 06:46:17.184737-05', '');
SELECT pg_catalog.setval('public.outbox_seq_seq', 9, true);
ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_idempotency_key_key UNIQUE (idempotency_key);
ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.rowrelay_claims
    ADD CONSTRAINT rowrelay_claims_pkey PRIMARY KEY (outbox, unit);
CREATE INDEX outbox_blocked ON public.outbox USING btree (aggregate_type, aggregate_id, seq) WHERE ((state)::text = ANY ((ARRAY['FAILED'::character varying, 'DEAD LETTER'::character varying, 'WAITING'::character varying])::text[]));
CREATE INDEX outbox_due ON public.outbox USING btree (next_attempt_at) WHERE ((state)::text = 'FAILED'::text);
CREATE INDEX outbox_order ON public.outbox USING btree (seq, bucket) WHERE ((state)::text = 'PENDING'::text);
CREATE INDEX outbox_pending ON public.outbox USING btree (bucket, seq) WHERE ((state)::text = 'PENDING'::text);
CREATE INDEX outbox_publishing ON public.outbox USING btree (seq) WHERE ((state)::text = 'PUBLISHING'::text);
