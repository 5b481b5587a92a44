import java.nio.file.Path;
import java.util.Map;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.connectors.ConnectorPortRegister;
import org.neo4j.configuration.connectors.ConnectorType;
import org.neo4j.configuration.connectors.HttpConnector;
import org.neo4j.configuration.connectors.HttpsConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;
import org.neo4j.io.ByteUnit;
import org.neo4j.kernel.internal.GraphDatabaseAPI;

/**
 * Neo4j Community with its Bolt connector on loopback, for tests.
 *
 * <p>Usage: Serve HOME PORT, the password of the user neo4j in BOLT_PASSWORD. Port 0 takes a free one. Prints "READY
 * PORT" and serves until its standard input ends, so that it never outlives who started it.
 */
public final class Serve {
    private Serve() {}

    public static void main(String[] arguments) {
        try {
            serve(arguments);
        } catch (Throwable problem) {
            // Threads of the server would keep the process alive.
            problem.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    private static void serve(String[] arguments) throws Exception {
        Path home = Path.of(arguments[0]);
        int port = Integer.parseInt(arguments[1]);
        SocketAddress address = new SocketAddress("127.0.0.1", port);
        DatabaseManagementService service =
                new DatabaseManagementServiceBuilder(home)
                        .setConfig(GraphDatabaseSettings.auth_enabled, true)
                        .setConfig(GraphDatabaseSettings.pagecache_memory, ByteUnit.mebiBytes(64))
                        .setConfig(GraphDatabaseSettings.track_query_cpu_time, false)
                        .setConfig(BoltConnector.enabled, true)
                        .setConfig(BoltConnector.listen_address, address)
                        .setConfig(BoltConnector.advertised_address, address)
                        .setConfig(HttpConnector.enabled, false)
                        .setConfig(HttpsConnector.enabled, false)
                        .build();
        Runtime.getRuntime().addShutdownHook(new Thread(service::shutdown));
        if (port == 0) {
            // The first start. The same password may not be set twice.
            service.database("system")
                    .executeTransactionally(
                            "ALTER USER neo4j SET PASSWORD $password CHANGE NOT REQUIRED",
                            Map.of("password", System.getenv("BOLT_PASSWORD")));
        }
        GraphDatabaseAPI system = (GraphDatabaseAPI) service.database("system");
        int taken =
                system.getDependencyResolver()
                        .resolveDependency(ConnectorPortRegister.class)
                        .getLocalAddress(ConnectorType.BOLT)
                        .getPort();
        System.out.println("READY " + taken);
        System.out.flush();
        while (System.in.read() >= 0) {}
        System.exit(0);
    }
}
