import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import javax.net.ssl.SSLServerSocket;

/** A server with a thread for each connection, on the sockets of the JDK: JSSE over TLS. */
final class JsseThreads {
    public static void main(String[] words) throws Exception {
        Program program = new Program(words);
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
