package dev.countersign;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Follows the environment's events (docs/events.md), and continues after the last one when the connection is lost. One thread calls
 * {@link #next()}; {@link #close()} by another ends it.
 */
public final class EventStream implements AutoCloseable {
    static final Duration FIRST_PAUSE = Duration.ofMillis(500);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);
    private static final Duration SILENCE = Duration.ofSeconds(30); // the service sends at least a comment every 15 s
    private static final int LARGEST = 1 << 20; // bytes of a line, and of the data of an event

    private final Countersign client;
    private final Map<String, String> filter;
    private final Duration firstPause;
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(task -> {
        var thread = new Thread(task, "countersign-events");
        thread.setDaemon(true);
        return thread;
    });
    private @Nullable String last;
    private int failures;
    private boolean afterReturn; // the line feed after a carriage return ends no second line
    private volatile @Nullable InputStream connection;
    private final CountDownLatch ended = new CountDownLatch(1);

    EventStream(Countersign client, Map<String, String> filter, @Nullable String last, Duration firstPause) {
        this.client = client;
        this.filter = Map.copyOf(filter);
        this.last = last;
        this.firstPause = firstPause;
    }

    /** Waits for the next event. Throws what would come again: a refusal, or an event that is not one. */
    public StreamedEvent next() throws CountersignException {
        while (ended.getCount() > 0) {
            var wanted = Duration.ZERO;
            try {
                if (connection == null) {
                    connection = new BufferedInputStream(client.open(filter, last));
                    afterReturn = false;
                }
                var event = read(connection);
                if (event != null) return event;
                continue;
            } catch (IOException e) {
                // the connection was lost
            } catch (CountersignException e) {
                if (connection != null || !(e.unavailable() || e.rateLimited())) throw e;
                wanted = e.retryAfter();
            }
            disconnect();
            pause(wanted);
        }
        throw CountersignException.unreachable("the stream of events is closed");
    }

    @Override
    public void close() {
        ended.countDown();
        timer.shutdownNow();
        disconnect();
    }

    private void disconnect() {
        var open = connection;
        connection = null;
        try {
            if (open != null) open.close();
        } catch (IOException e) {
            // it is closed
        }
    }

    /** Reads one complete message. Null: it has no event, and only sets the position, such as the first one. */
    private @Nullable StreamedEvent read(InputStream in) throws IOException, CountersignException {
        var id = last;
        var type = "message";
        var data = new StringBuilder();
        boolean given = false;
        for (var line = line(in); !line.isEmpty(); line = line(in)) {
            int colon = line.indexOf(':');
            var value = colon < 0 ? "" : line.substring(line.startsWith(" ", colon + 1) ? colon + 2 : colon + 1);
            switch (colon < 0 ? line : line.substring(0, colon)) {
                case "id" -> id = value;
                case "event" -> type = value;
                case "data" -> {
                    data.append(given ? "\n" : "").append(value);
                    given = true;
                    if (data.length() > LARGEST) throw garbled("an event is longer than " + LARGEST + " bytes");
                }
                default -> {
                    // a comment, or a field that says nothing to us
                }
            }
        }
        failures = 0;
        last = id;
        if (!given) return null;
        JsonNode found = Json.parse(data.toString().getBytes(StandardCharsets.UTF_8));
        if (found == null || !found.isObject()) throw garbled("the data of an event are not a JSON object"); // a new connection would receive it again
        return new StreamedEvent(id == null ? "" : id, type, found);
    }

    /** Reads a line that a line feed, a carriage return or both end. A connection that is silent for too long is closed. */
    private String line(InputStream in) throws IOException, CountersignException {
        var silence = watch(in);
        try {
            for (var out = new ByteArrayOutputStream(); ; ) {
                int b = in.read();
                if (b < 0) throw new IOException("the stream ended");
                boolean second = b == '\n' && afterReturn;
                afterReturn = b == '\r';
                if (second) continue;
                if (b == '\n' || b == '\r') return out.toString(StandardCharsets.UTF_8);
                out.write(b);
                if (out.size() > LARGEST) throw garbled("a line is longer than " + LARGEST + " bytes");
            }
        } finally {
            silence.cancel(false);
        }
    }

    private Future<?> watch(InputStream in) throws IOException {
        try {
            return timer.schedule(() -> {
                in.close();
                return null;
            }, SILENCE.toSeconds(), TimeUnit.SECONDS);
        } catch (RejectedExecutionException e) {
            throw new IOException("the stream is closed", e);
        }
    }

    private void pause(Duration wanted) throws CountersignException {
        long longest = Math.min(firstPause.toMillis() << failures, LONGEST_PAUSE.toMillis());
        failures = Math.min(failures + 1, 10);
        try {
            ended.await(Math.max(ThreadLocalRandom.current().nextLong(longest / 2, longest + 1), wanted.toMillis()), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CountersignException.unreachable("the thread was interrupted");
        }
    }

    private static CountersignException garbled(String what) {
        return new CountersignException(CountersignException.Kind.PROTOCOL, 200, "", "", Duration.ZERO, "streamEvents: " + what);
    }
}
