import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;

/**
 * A server with a thread for each connection, on the sockets of the JDK: JSSE over TLS; and a client, whose connections
 * have no thread once they are open.
 */
final class JsseThreads {
    public static void main(String[] words) throws Exception {
        Program program = new Program(words);
        if (program.isClient()) {
            program.answerCommands(new Client(program));
            return;
        }
        InetAddress host = InetAddress.getByName(program.host("-plain"));
        ServerSocket plain = new ServerSocket(program.port("-plain"), Program.BACKLOG, host);
        var tls = (SSLServerSocket) program.context().getServerSocketFactory()
                .createServerSocket(program.port("-tls"), Program.BACKLOG, host);
        tls.setEnabledProtocols(new String[] {program.options.get("-protocol")});
        for (ServerSocket listener : new ServerSocket[] {plain, tls}) {
            new Thread(() -> accept(program, listener)).start();
        }
        program.answerCommands();
    }

    private static final class Client implements Program.Client {
        private final Program program;
        private final SSLContext context;
        private final List<Socket> connections = new ArrayList<>();

        Client(Program program) throws Exception {
            this.program = program;
            context = program.clientContext();
        }

        /** Shakes hands in a thread for each, which has ended when this returns. */
        @Override
        public String[] connect(boolean tls, int count) throws Exception {
            String option = tls ? "-tls" : "-plain";
            var handshakes = new ArrayList<FutureTask<String[]>>();
            for (int one = 0; one < count; one++) {
                Socket bare = new Socket(program.host(option), program.port(option));
                if (!tls) {
                    connections.add(bare);
                    continue;
                }
                var secure = (SSLSocket) context.getSocketFactory().createSocket(bare, "localhost", program.port(option), true);
                secure.setEnabledProtocols(new String[] {program.options.get("-protocol")});
                var parameters = secure.getSSLParameters();
                parameters.setEndpointIdentificationAlgorithm("HTTPS");
                secure.setSSLParameters(parameters);
                connections.add(secure);
                var handshake = new FutureTask<>(() -> {
                    secure.startHandshake();
                    return new String[] {secure.getSession().getProtocol(), secure.getSession().getCipherSuite()};
                });
                handshakes.add(handshake);
                new Thread(handshake).start();
            }
            String[] used = null;
            for (var handshake : handshakes) {
                used = handshake.get();
            }
            return used;
        }

        @Override
        public void ask(byte[] request, int size) throws IOException {
            for (Socket connection : connections) {
                connection.getOutputStream().write(request);
                InputStream in = connection.getInputStream();
                String head = readHead(in);
                if (!head.startsWith("HTTP/1.1 200 ")) {
                    throw new IOException("the server answered " + head.split("\r\n")[0]);
                }
                in.readNBytes(size);
            }
        }

        @Override
        public void close() throws IOException {
            for (Socket connection : connections) {
                connection.close();
            }
            connections.clear();
        }
    }

    private static void accept(Program program, ServerSocket listener) {
        while (true) {
            try {
                Socket socket = listener.accept();
                new Thread(() -> serve(program, socket)).start();
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    private static void serve(Program program, Socket socket) {
        try (socket) {
            InputStream in = new BufferedInputStream(socket.getInputStream());
            for (String head = readHead(in); !head.isEmpty(); head = readHead(in)) {
                in.skipNBytes(length(head));
                byte[] body = program.body(head.split(" ")[1]);
                String answer = "HTTP/1.1 200 OK\r\nContent-Length: " + body.length + "\r\n\r\n";
                socket.getOutputStream().write(answer.getBytes(StandardCharsets.US_ASCII));
                socket.getOutputStream().write(body);
            }
        } catch (IOException error) {
            // The client has closed.
        }
    }

    /** Returns the head of a request; empty at the end of the stream. */
    private static String readHead(InputStream in) throws IOException {
        var head = new StringBuilder();
        for (int one = in.read(); one >= 0; one = in.read()) {
            head.append((char) one);
            if (one == '\n' && head.length() > 3 && head.charAt(head.length() - 3) == '\n') {
                return head.toString();
            }
        }
        return "";
    }

    private static long length(String head) {
        for (String line : head.split("\r\n")) {
            if (line.toLowerCase().startsWith("content-length:")) {
                return Long.parseLong(line.substring(15).trim());
            }
        }
        return 0;
    }
}
