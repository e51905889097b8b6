using System;
using System.Data;
using System.Data.Common;
using System.Globalization;

/// <summary>
/// Place an order and say so, in one transaction (ADO.NET, here over ODBC, whose placeholder is the question mark). With Npgsql write
/// $1, $2, …; with Microsoft.Data.SqlClient or MySqlConnector their own, and the locking statement of sqlserver.sql or mysql.sql.
/// </summary>
public static class OutboxWriter
{
    /// <summary>Writes an event into the outbox, in the transaction.</summary>
    public static void Write(DbTransaction transaction, string aggregateType, string aggregateId, string eventType, string payload,
        string idempotencyKey)
    {
        // Until the commit: who draws the next seq of this aggregate has to wait for us.
        Execute(transaction, "SELECT pg_advisory_xact_lock(hashtextextended(CAST(? AS text) || chr(31) || CAST(? AS text), 0))",
            aggregateType, aggregateId);
        Execute(transaction,
            "INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES (?, ?, ?, ?, ?)",
            aggregateType, aggregateId, eventType, payload, idempotencyKey);
    }

    internal static void Execute(DbTransaction transaction, string statement, params object[] values)
    {
        using (DbCommand command = transaction.Connection.CreateCommand())
        {
            command.Transaction = transaction;
            command.CommandText = statement;
            foreach (object value in values)
            {
                DbParameter parameter = command.CreateParameter();
                parameter.Value = value;
                command.Parameters.Add(parameter);
            }
            command.ExecuteNonQuery();
        }
    }
}

public static class PlaceOrder
{
    /// <summary>A JSON string. A real application has a library for this.</summary>
    static string Quoted(string text)
    {
        var json = new System.Text.StringBuilder("\"");
        foreach (char c in text)
        {
            json.Append(c == '"' || c == '\\' || c < ' ' ? string.Format("\\u{0:x4}", (int)c) : c.ToString());
        }
        return json.Append('"').ToString();
    }

    public static void Main(string[] args)
    {
        using (DbConnection connection = new System.Data.Odbc.OdbcConnection(args[0]))
        {
            connection.Open();
            long id = long.Parse(args[1], CultureInfo.InvariantCulture);
            string customer = args[2], total = args[3];
            using (DbTransaction transaction = connection.BeginTransaction())
            {
                OutboxWriter.Execute(transaction, "INSERT INTO orders (id, customer, total) VALUES (?, ?, CAST(? AS numeric))", id, customer, total);
                string payload = "{\"order_id\": " + id + ", \"customer\": " + Quoted(customer) + ", \"total\": " + total + "}";
                OutboxWriter.Write(transaction, "Order", id.ToString(CultureInfo.InvariantCulture), "OrderPlaced", payload, "order-placed-" + id);
                transaction.Commit();
            }
        }
    }
}
