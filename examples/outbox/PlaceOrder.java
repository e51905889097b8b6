import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/**
 * Place an order and say so, in one transaction (JDBC, PostgreSQL).
 *
 * <pre>java -cp postgresql.jar PlaceOrder.java jdbc:postgresql://… USER PASSWORD 42 Ada 99.50</pre>
 */
public final class PlaceOrder {
    public static void main(String[] args) throws SQLException {
        try (Connection connection = DriverManager.getConnection(args[0], args[1], args[2])) {
            placeOrder(connection, Long.parseLong(args[3]), args[4], new BigDecimal(args[5]));
        }
    }

    static void placeOrder(Connection connection, long id, String customer, BigDecimal total) throws SQLException {
        connection.setAutoCommit(false);
        try {
            execute(connection, "INSERT INTO orders (id, customer, total) VALUES (?, ?, ?)", id, customer, total);
            String payload = "{\"order_id\": " + id + ", \"customer\": " + quoted(customer) + ", \"total\": " + total + "}";
            writeEvent(connection, "Order", String.valueOf(id), "OrderPlaced", payload, "order-placed-" + id);
            connection.commit();
        } catch (SQLException e) {
            connection.rollback();
            throw e;
        }
    }

    /** Writes an event into the outbox, in the connection's transaction. */
    static void writeEvent(Connection connection, String aggregateType, String aggregateId, String eventType, String payload,
            String idempotencyKey) throws SQLException {
        // Until the commit: who draws the next seq of this aggregate has to wait for us.
        execute(connection, "SELECT pg_advisory_xact_lock(hashtextextended(?::text || chr(31) || ?::text, 0))", aggregateType, aggregateId);
        execute(connection, "INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES (?, ?, ?, ?, ?)",
                aggregateType, aggregateId, eventType, payload, idempotencyKey);
    }

    /** A JSON string. A real application has a library for this. */
    private static String quoted(String text) {
        StringBuilder json = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\' || c < ' ') {
                json.append(String.format("\\u%04x", (int) c));
            } else {
                json.append(c);
            }
        }
        return json.append('"').toString();
    }

    private static void execute(Connection connection, String statement, Object... values) throws SQLException {
        try (PreparedStatement prepared = connection.prepareStatement(statement)) {
            for (int i = 0; i < values.length; i++) {
                prepared.setObject(i + 1, values[i]);
            }
            prepared.execute();
        }
    }
}
