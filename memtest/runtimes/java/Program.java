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

    /** Answers each line on stdin, and ends the process when stdin ends. */
    void answerCommands() throws IOException {
        MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (line.equals("heap")) {
                System.out.println("heap " + heap(memory));
            } else if (line.equals("collect")) {
                memory.gc();
                memory.gc();
                System.out.println("collect {}");
            }
        }
        Runtime.getRuntime().halt(0);
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
