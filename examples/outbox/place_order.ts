// Place an order and say so, in one transaction (node-postgres).
//
//   DATABASE_URL=postgres://… node place_order.js 42 Ada 99.50
import { Client } from "pg";

/** Writes an event into the outbox, in the transaction that the client is in. */
export async function writeEvent(
  client: Client,
  event: { aggregateType: string; aggregateId: string; type: string; payload: unknown; idempotencyKey: string },
): Promise<void> {
  // Until the commit: who draws the next seq of this aggregate has to wait for us.
  await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1::text || chr(31) || $2::text, 0))", [
    event.aggregateType,
    event.aggregateId,
  ]);
  await client.query(
    "INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES ($1, $2, $3, $4, $5)",
    [event.aggregateType, event.aggregateId, event.type, JSON.stringify(event.payload), event.idempotencyKey],
  );
}

async function placeOrder(client: Client, id: number, customer: string, total: number): Promise<void> {
  await client.query("BEGIN");
  try {
    await client.query("INSERT INTO orders (id, customer, total) VALUES ($1, $2, $3)", [id, customer, total]);
    await writeEvent(client, {
      aggregateType: "Order",
      aggregateId: String(id),
      type: "OrderPlaced",
      payload: { order_id: id, customer, total },
      idempotencyKey: `order-placed-${id}`,
    });
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  }
}

async function main(): Promise<void> {
  const client = new Client({ connectionString: process.env.DATABASE_URL });
  await client.connect();
  try {
    const [id, customer, total] = process.argv.slice(2);
    await placeOrder(client, Number(id), customer, Number(total));
  } finally {
    await client.end();
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
