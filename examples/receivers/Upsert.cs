using System;
using System.Collections.Generic;
using System.Data.Odbc;
using System.Globalization;
using System.IO;
using System.Net;
using System.Net.Sockets;
using System.Text;
using System.Threading.Tasks;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

/// <summary>
/// A receiver that bears duplicates and late requests: upsert on (key, cursor) behind a fence (ADO.NET, here over ODBC).
///
///   DATABASE_URL="Driver=…;Server=…;…" PORT=8080 mono Upsert.exe
///
/// It reads output__format=cloudevents, and is what upsert.go and fence.go are, which say why. It was compiled and run with
/// Mono, never with .NET: there, with Npgsql, write $1, $2, … for the question marks.
/// </summary>
public static class Upsert
{
    static readonly string[] Tables =
    {
        "CREATE TABLE IF NOT EXISTS order_states (key text, cursor text, data text NOT NULL, PRIMARY KEY (key, cursor))",
        "CREATE TABLE IF NOT EXISTS orders (key text PRIMARY KEY, data text NOT NULL, deleted boolean NOT NULL)",
        "CREATE TABLE IF NOT EXISTS fences (key text PRIMARY KEY, token bigint NOT NULL, number bigint NOT NULL)",
    };

    // What a string or a number looks like is the sender's business: by default, Json.NET makes dates of texts that look like
    // them, and writes them in its own way.
    static readonly JsonSerializerSettings AsSent = new JsonSerializerSettings
    {
        DateParseHandling = DateParseHandling.None,
        FloatParseHandling = FloatParseHandling.Decimal,
    };

    public sealed class RowEvent
    {
        [JsonProperty("id", Required = Required.Always)] public string Id;
        [JsonProperty("type", Required = Required.Always)] public string Type;
        // Without these three, all events would look like one.
        [JsonProperty("rowrelaypoller", Required = Required.Always)] public string Poller;
        [JsonProperty("rowrelaykeyhash", Required = Required.Always)] public string KeyHash;
        [JsonProperty("rowrelaycursor", Required = Required.Always)] public string Cursor;
        [JsonProperty("data", Required = Required.Always)] public JRaw Data;
    }

    /// <summary>Keeps a state. False: a later request was seen for its key: its sender has given this one up.</summary>
    static bool Keep(OdbcTransaction transaction, RowEvent e, long token, long number)
    {
        string key = e.Poller + ":" + e.KeyHash, data = e.Data.ToString(CultureInfo.InvariantCulture);
        int passed = Execute(transaction,
            @"INSERT INTO fences (key, token, number) VALUES (?, ?, ?)
              ON CONFLICT (key) DO UPDATE SET token = excluded.token, number = excluded.number
              WHERE (excluded.token, excluded.number) >= (fences.token, fences.number)", key, token, number);
        if (passed == 0)
        {
            return false;
        }
        Execute(transaction,
            @"INSERT INTO order_states (key, cursor, data) VALUES (?, ?, ?)
              ON CONFLICT (key, cursor) DO UPDATE SET data = excluded.data", key, e.Cursor, data);
        Execute(transaction,
            @"INSERT INTO orders (key, data, deleted) VALUES (?, ?, CAST(? AS boolean))
              ON CONFLICT (key) DO UPDATE SET data = excluded.data, deleted = excluded.deleted",
            key, data, e.Type == "rowrelay.row.delete" ? "true" : "false");
        return true;
    }

    /// <summary>Keeps all of a request, or nothing, and returns the ids of the events that are late.</summary>
    static List<string> KeepAll(string database, RowEvent[] events, long token, long number)
    {
        var late = new List<string>();
        using (var connection = new OdbcConnection(database))
        {
            connection.Open();
            using (OdbcTransaction transaction = connection.BeginTransaction()) // rolled back where it is not committed
            {
                foreach (RowEvent e in events)
                {
                    if (!Keep(transaction, e, token, number))
                    {
                        late.Add(e.Id);
                    }
                }
                transaction.Commit();
            }
        }
        return late;
    }

    static int Execute(OdbcTransaction transaction, string statement, params object[] values)
    {
        using (var command = new OdbcCommand(statement, transaction.Connection, transaction))
        {
            foreach (object value in values)
            {
                command.Parameters.AddWithValue("", value);
            }
            return command.ExecuteNonQuery();
        }
    }

    static void Receive(HttpListenerContext context, string database)
    {
        RowEvent[] events;
        long token, number;
        try
        {
            using (var body = new StreamReader(context.Request.InputStream, new UTF8Encoding(false, true)))
            {
                events = JsonConvert.DeserializeObject<RowEvent[]>(body.ReadToEnd(), AsSent);
            }
            token = long.Parse(context.Request.Headers["Rowrelay-Fencing-Token"], CultureInfo.InvariantCulture);
            number = long.Parse(context.Request.Headers["Rowrelay-Delivery"], CultureInfo.InvariantCulture);
        }
        catch (Exception err) when (err is JsonException || err is FormatException || err is ArgumentException)
        {
            Answer(context, 400, new { error = "set output__format=cloudevents: " + err.Message });
            return;
        }
        List<string> late;
        try
        {
            late = KeepAll(database, events, token, number);
        }
        catch (OdbcException err)
        {
            Answer(context, 503, new { error = "nothing was kept: " + err.Message });
            return;
        }
        // Only now is it durable. What is late is named, not swallowed.
        Answer(context, 200, new { batchItemFailures = late.ConvertAll(id => new { itemIdentifier = id }) });
    }

    static void Answer(HttpListenerContext context, int status, object content)
    {
        byte[] body = Encoding.UTF8.GetBytes(JsonConvert.SerializeObject(content));
        context.Response.StatusCode = status;
        context.Response.ContentType = "application/json";
        context.Response.Close(body, true);
    }

    public static void Main()
    {
        string database = Environment.GetEnvironmentVariable("DATABASE_URL");
        using (var connection = new OdbcConnection(database))
        {
            connection.Open();
            using (OdbcTransaction transaction = connection.BeginTransaction())
            {
                foreach (string table in Tables)
                {
                    Execute(transaction, table);
                }
                transaction.Commit();
            }
        }
        int port = int.Parse(Environment.GetEnvironmentVariable("PORT") ?? "8080", CultureInfo.InvariantCulture);
        if (port == 0) // any that is free: HttpListener cannot choose one
        {
            var free = new TcpListener(IPAddress.Loopback, 0);
            free.Start();
            port = ((IPEndPoint)free.LocalEndpoint).Port;
            free.Stop();
        }
        var listener = new HttpListener();
        listener.Prefixes.Add("http://127.0.0.1:" + port + "/");
        listener.Start();
        Console.WriteLine("http://127.0.0.1:" + port + "/");
        while (true)
        {
            HttpListenerContext context = listener.GetContext();
            Task.Run(() => Receive(context, database));
        }
    }
}
