import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** What the programs of the JVM share: options, certificates, answers, and the heap. */
final class Program {
    static final int BACKLOG = 4096;
    final Map<String, String> options = new HashMap<>(Map.of(
            "-plain", "127.0.0.1:8080", "-tls", "127.0.0.1:8443", "-certs", ".", "-protocol", "TLSv1.3", "-full", "16384"));

    Program(String[] words) {
        for (int at = 0; at + 1 < words.length; at += 2) {
            options.put(words[at], words[at + 1]);
        }
    }

    String host(String option) {
        return options.get(option).split(":")[0];
    }

    int port(String option) {
        return Integer.parseInt(options.get(option).split(":")[1]);
    }

    Path file(String name) {
        return Path.of(options.get("-certs"), name);
    }

    /** Returns the body of the answer to a request: one byte, or as many as /full has. */
    byte[] body(String target) {
        return "x".repeat(target.equals("/full") ? Integer.parseInt(options.get("-full")) : 1).getBytes(StandardCharsets.US_ASCII);
    }

    /** Returns a context of JSSE that trusts the root. */
    SSLContext clientContext() throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        try (var in = Files.newInputStream(file("root.pem"))) {
            store.setCertificateEntry("root", CertificateFactory.getInstance("X.509").generateCertificate(in));
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context;
    }

    /** Returns a context of JSSE with the certificates. */
    SSLContext context() throws Exception {
        CertificateFactory factory = CertificateFactory.getInstance("X.509");
        Certificate[] chain;
        try (var in = Files.newInputStream(file("chain.pem"))) {
            chain = factory.generateCertificates(in).toArray(new Certificate[0]);
        }
        String text = Files.readString(file("key.pem")).replaceAll("-----[A-Z ]+-----", "").replaceAll("\\s", "");
        PrivateKey key = KeyFactory.getInstance("RSA").generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(text)));
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        store.setKeyEntry("server", key, new char[0], chain);
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(store, new char[0]);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), null, null);
        return context;
    }

    /** What a client does when it is told: `connect tls 100`, `ask small`, `ask full`, `close`. */
    interface Client {
        /** Opens so many connections at once; returns protocol and cipher, or nothing without TLS. */
        String[] connect(boolean tls, int count) throws Exception;

        /** Sends a request on each connection, one after the other, and reads the answer, whose body has so many bytes. */
        void ask(byte[] request, int size) throws Exception;

        void close() throws Exception;
    }

    boolean isClient() {
        return "client".equals(options.get("-role"));
    }

    void answerCommands() throws IOException {
        answerCommands(null);
    }

    /** Answers each line on stdin, and ends the process when stdin ends. */
    void answerCommands(Client client) throws IOException {
        MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (line.equals("heap")) {
                System.out.println("heap " + heap(memory));
            } else if (line.equals("collect")) {
                memory.gc();
                memory.gc();
                System.out.println("collect {}");
            } else {
                try {
                    System.out.println(line.split(" ")[0] + " " + tell(client, line.split(" ")));
                } catch (Exception error) {
                    System.out.println("failed \"" + String.valueOf(error).replaceAll("[\"\\\\\\p{Cntrl}]", " ") + "\"");
                }
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private String tell(Client client, String[] words) throws Exception {
        if (words[0].equals("connect")) {
            String[] used = client.connect(words[1].equals("tls"), Integer.parseInt(words[2]));
            return used == null ? "{}" : String.format("{\"protocol\": \"%s\", \"cipher\": \"%s\"}", used[0], used[1]);
        }
        if (words[0].equals("ask")) {
            boolean isFull = words[1].equals("full");
            byte[] body = isFull ? body("/full") : new byte[0];
            String head = "GET /" + words[1] + " HTTP/1.1\r\nHost: localhost\r\n"
                    + (isFull ? "Content-Length: " + body.length + "\r\n\r\n" : "\r\n");
            client.ask((head + new String(body, StandardCharsets.US_ASCII)).getBytes(StandardCharsets.US_ASCII), Math.max(1, body.length));
        } else if (words[0].equals("close")) {
            client.close();
        } else {
            throw new IllegalArgumentException("no command " + words[0]);
        }
        return "{}";
    }

    /** used_bytes: objects of the heap. direct: what direct buffers have of malloc; non-heap: classes and code. */
    private static String heap(MemoryMXBean memory) {
        long direct = 0;
        for (BufferPoolMXBean pool : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
            direct += pool.getName().equals("direct") ? Math.max(0, pool.getMemoryUsed()) : 0;
        }
        var heap = memory.getHeapMemoryUsage();
        return String.format("{\"used_bytes\": %d, \"committed_bytes\": %d, \"parts\": {\"direct\": %d, \"non_heap\": %d}}",
                heap.getUsed(), heap.getCommitted(), direct, memory.getNonHeapMemoryUsage().getUsed());
    }
}
