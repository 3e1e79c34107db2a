package a.b;
/* class Not {} */
@Service("x")
public final class Server<T extends Foo> implements Closeable { // DEF class Server
    public static final int LIMIT = 10; // DEF field Server.LIMIT
    private final Map<String, List<T>> cache = new HashMap<>(); // DEF field Server.cache
    public Server(int port) { // DEF method Server.Server
        this.port = port;
        if (port > 1) {
            call(port);
        }
    }
    @Override public void close() throws IOException { // DEF method Server.close
        new Thread() {
            public void run() { }
        }.start();
    }
    protected abstract String name(int a,  // DEF method Server.name
        int b);
    interface Listener { // DEF interface Server.Listener
        void onEvent(String s); // DEF method Listener.onEvent
    }
    enum State { ON, OFF } // DEF enum Server.State
    public record Point(int x, int y) { } // DEF class Server.Point
}
@interface Marker { } // DEF interface Marker
