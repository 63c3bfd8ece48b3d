package dev.countersign;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** An HTTP server that sends what it is given, also what is no valid response, and closes each connection. */
public final class Server implements AutoCloseable {
    /** A response; drop closes the connection without one. */
    public record Reply(int status, List<Map.Entry<String, String>> headers, byte[] body, int declared, boolean drop) {
        /** Returns a response with JSON. */
        public static Reply json(int status, String body) {
            return new Reply(status, List.of(Map.entry("Content-Type", status < 400 ? "application/json" : "application/problem+json")), body.getBytes(StandardCharsets.UTF_8), 0, false);
        }
    }

    /** What the server does. */
    @FunctionalInterface
    public interface Handler {
        /** Returns the response to a request; body has its path too, as "path", and its headers, by their names in lower case, as "headers". */
        Reply of(JsonNode body) throws IOException;
    }

    private static final ObjectMapper JSON = new ObjectMapper();

    private final ServerSocket socket;
    private final Handler handler;

    /** Starts the server on a free port. */
    public Server(Handler handler) throws IOException {
        this.handler = handler;
        this.socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        var thread = new Thread(this::serve);
        thread.setDaemon(true);
        thread.start();
    }

    /** Returns the server's base URL. */
    public String url() {
        return "http://127.0.0.1:" + socket.getLocalPort();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    private void serve() {
        while (!socket.isClosed()) {
            try (var connection = socket.accept()) {
                serve(connection);
            } catch (IOException e) {
                // closed
            }
        }
    }

    private void serve(Socket connection) throws IOException {
        var in = new BufferedInputStream(connection.getInputStream());
        var lines = new ArrayList<String>();
        for (var line = line(in); !line.isEmpty(); line = line(in)) lines.add(line);
        if (lines.isEmpty()) return;
        int length = lines.stream().filter(l -> l.toLowerCase(Locale.ROOT).startsWith("content-length:")).mapToInt(l -> Integer.parseInt(l.substring(15).strip())).findFirst().orElse(0);
        var text = in.readNBytes(length);
        var body = length > 0 ? (ObjectNode) JSON.readTree(text) : JSON.createObjectNode();
        body.put("path", lines.get(0).split(" ")[1]);
        var headers = body.putObject("headers");
        for (var l : lines.subList(1, lines.size())) headers.put(l.substring(0, l.indexOf(':')).toLowerCase(Locale.ROOT), l.substring(l.indexOf(':') + 1).strip());
        Reply reply;
        synchronized (handler) {
            reply = handler.of(body);
        }
        if (reply.drop()) return;
        var out = new ByteArrayOutputStream();
        out.writeBytes(("HTTP/1.1 " + reply.status() + " S\r\nConnection: close\r\n").getBytes(StandardCharsets.US_ASCII));
        for (var h : reply.headers()) out.writeBytes((h.getKey() + ": " + h.getValue() + "\r\n").getBytes(StandardCharsets.ISO_8859_1));
        if (reply.status() != 204) out.writeBytes(("Content-Length: " + Math.max(reply.declared(), reply.body().length) + "\r\n").getBytes(StandardCharsets.US_ASCII));
        out.writeBytes("\r\n".getBytes(StandardCharsets.US_ASCII));
        out.writeBytes(reply.body());
        connection.getOutputStream().write(out.toByteArray());
    }

    private static String line(InputStream in) throws IOException {
        var out = new ByteArrayOutputStream();
        for (int c = in.read(); c != -1 && c != '\n'; c = in.read()) {
            if (c != '\r') out.write(c);
        }
        return out.toString(StandardCharsets.ISO_8859_1);
    }
}
