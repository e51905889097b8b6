// A receiver that bears duplicates and late requests: upsert on (key, cursor) behind a fence (node-postgres).
//
//   DATABASE_URL=postgres://… PORT=8080 node upsert.js
//
// It reads output__format=cloudevents, and is what upsert.go and fence.go are, which say why.
import { createServer, IncomingMessage } from "node:http";
import { AddressInfo } from "node:net";
import { Pool, PoolClient } from "pg";

const tables = `
CREATE TABLE IF NOT EXISTS order_states (key text, cursor text, data text NOT NULL, PRIMARY KEY (key, cursor));
CREATE TABLE IF NOT EXISTS orders (key text PRIMARY KEY, data text NOT NULL, deleted boolean NOT NULL);
CREATE TABLE IF NOT EXISTS fences (key text PRIMARY KEY, token bigint NOT NULL, number bigint NOT NULL)`;

type RowEvent = {
  id: string;
  type: string;
  rowrelaypoller: string;
  rowrelaykeyhash: string;
  rowrelaycursor: string;
  data: unknown;
};

/** Keeps a state. False: a later request was seen for its key, so that this one has been given up by its sender. */
async function keep(db: PoolClient, event: RowEvent, token: string, number: string): Promise<boolean> {
  const key = `${event.rowrelaypoller}:${event.rowrelaykeyhash}`;
  const fence = await db.query(
    `INSERT INTO fences (key, token, number) VALUES ($1, $2, $3)
     ON CONFLICT (key) DO UPDATE SET token = excluded.token, number = excluded.number
     WHERE (excluded.token, excluded.number) >= (fences.token, fences.number)`,
    [key, token, number],
  );
  if (fence.rowCount === 0) return false;
  const data = JSON.stringify(event.data);
  await db.query(
    `INSERT INTO order_states (key, cursor, data) VALUES ($1, $2, $3)
     ON CONFLICT (key, cursor) DO UPDATE SET data = excluded.data`,
    [key, event.rowrelaycursor, data],
  );
  await db.query(
    `INSERT INTO orders (key, data, deleted) VALUES ($1, $2, $3)
     ON CONFLICT (key) DO UPDATE SET data = excluded.data, deleted = excluded.deleted`,
    [key, data, event.type === "rowrelay.row.delete"],
  );
  return true;
}

/** Keeps all of a request, or nothing, and returns the ids of the events that are late. */
async function keepAll(pool: Pool, events: RowEvent[], token: string, number: string): Promise<string[]> {
  const db = await pool.connect();
  try {
    await db.query("BEGIN");
    const late: string[] = [];
    for (const event of events) if (!(await keep(db, event, token, number))) late.push(event.id);
    await db.query("COMMIT");
    return late;
  } catch (err) {
    await db.query("ROLLBACK");
    throw err;
  } finally {
    db.release();
  }
}

/** Reads a request; it throws where that has another form. */
async function read(request: IncomingMessage): Promise<[RowEvent[], string, string]> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const events: RowEvent[] = JSON.parse(Buffer.concat(chunks).toString());
  const token = request.headers["rowrelay-fencing-token"];
  const number = request.headers["rowrelay-delivery"];
  if (!Array.isArray(events) || typeof token !== "string" || typeof number !== "string") throw new Error("no batch");
  for (const event of events) {
    // Without these, all events would look like one.
    if (!event.rowrelaypoller || !event.rowrelaykeyhash || !event.rowrelaycursor) throw new Error("no key and cursor");
  }
  return [events, token, number];
}

async function main(): Promise<void> {
  const pool = new Pool({ connectionString: process.env.DATABASE_URL });
  await pool.query(tables);
  const server = createServer(async (request, response) => {
    const answer = (status: number, content: object) =>
      response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(content));
    let batch: [RowEvent[], string, string];
    try {
      batch = await read(request);
    } catch (err) {
      answer(400, { error: `set output__format=cloudevents: ${err}` });
      return;
    }
    try {
      const late = await keepAll(pool, ...batch);
      // Only now is it durable. What is late is named, not swallowed.
      answer(200, { batchItemFailures: late.map((id) => ({ itemIdentifier: id })) });
    } catch (err) {
      answer(503, { error: `nothing was kept: ${err}` });
    }
  });
  server.listen(Number(process.env.PORT ?? 8080), "127.0.0.1", () =>
    console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
  );
}

main();
