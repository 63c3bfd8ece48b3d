package dev.countersign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The wire kit (sdk/kit), which every SDK must pass. */
class KitTest {
    static final ObjectMapper JSON = new ObjectMapper();

    static JsonNode kit(String name) {
        try {
            return JSON.readTree(Path.of("../kit", name).toFile());
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Stream<DynamicTest> each(JsonNode cases, Check check) {
        return StreamSupport.stream(cases.spliterator(), false).map(c -> DynamicTest.dynamicTest(c.get("name").asText(), () -> check.of(c)));
    }

    private interface Check {
        void of(JsonNode c) throws Exception;
    }

    private static Clock at(long seconds) {
        return Clock.fixed(Instant.ofEpochSecond(seconds), ZoneOffset.UTC);
    }

    private static Map<String, Object> map(JsonNode node) {
        return JSON.convertValue(node, new TypeReference<>() {});
    }

    @TestFactory
    Stream<DynamicTest> proofs() {
        var set = kit("proofs.json");
        return each(set.get("cases"), c -> {
            try (var server = new Server(exchange -> Server.Reply.json(200, (c.has("jwks") ? c : set).get("jwks").toString()))) {
                var verifier = new ProofVerifier(server.url(), set.get("issuer").asText(), set.get("environment").asText(), set.get("audience").asText(),
                    Duration.ofSeconds(c.path("leeway").asLong(0)), at(c.path("now").asLong(set.get("now").asLong())));
                var x = set.get("expect");
                var context = c.path("expect").has("context") ? c.get("expect").get("context") : x.get("context");
                var expect = Expect.of(x.get("action").asText(), x.get("subject").asText(),
                    new Resource(x.at("/resource/type").asText(), x.at("/resource/id").asText()), map(context)).withNonce(x.get("nonce").asText());
                if (!c.has("code")) {
                    assertEquals("prf_1", verifier.verify(c.get("proof").asText(), expect).get("jti").asText());
                    return;
                }
                var refused = assertThrows(CountersignException.class, () -> verifier.verify(c.get("proof").asText(), expect), c.get("guard").asText());
                assertTrue(Arrays.asList(c.get("code").asText().split("\\|")).contains(refused.code()), refused.code());
            }
        });
    }

    @TestFactory
    Stream<DynamicTest> webhooks() {
        var set = kit("webhooks.json");
        return each(set.get("cases"), c -> {
            var secrets = StreamSupport.stream(c.get("secrets").spliterator(), false).map(JsonNode::asText).toArray(String[]::new);
            var webhooks = new Webhooks(at(set.get("now").asLong()), secrets);
            var body = c.get("body").asText().getBytes(StandardCharsets.UTF_8);
            if (c.get("accepted").asBoolean()) {
                assertEquals("hold.approved", webhooks.verify(body, name -> c.get("headers").path(name).textValue()).type());
            } else {
                assertThrows(CountersignException.class, () -> webhooks.verify(body, name -> c.get("headers").path(name).textValue()));
            }
        });
    }

    @TestFactory
    Stream<DynamicTest> canonical() {
        return each(kit("canonical.json").get("cases"), c -> {
            var value = JSON.readTree(c.get("json").asText());
            assertEquals(c.get("canonical").asText(), Canonical.of(value));
            assertEquals(c.get("digest").asText(), Canonical.digest(value));
        });
    }

    @TestFactory
    Stream<DynamicTest> refusedTexts() {
        return each(kit("canonical.json").get("refused"), c -> assertThrows(Exception.class, () -> Canonical.of(JSON.readTree(c.get("json").asText()))));
    }

    private static AuthorizeRequest request(JsonNode r) throws IOException {
        return new AuthorizeRequest(r.get("subject").asText(), r.get("action").asText(), new Resource(r.at("/resource/type").asText(), r.at("/resource/id").asText()),
            r.get("audience").asText(), map(r.path("context").isObject() ? r.get("context") : JSON.createObjectNode()), null, r.get("requested_at").asLong(),
            r.get("nonce").asText(), r.get("idempotency_key").asText());
    }

    private static String outcome(CountersignException e) {
        if (e.rateLimited()) return "rate_limited";
        if (e.kind() == CountersignException.Kind.PROTOCOL && e.status() < 400) return "protocol_error";
        return e.unavailable() ? "unavailable" : "refused";
    }

    private static Server.Reply reply(JsonNode c) {
        var headers = new ArrayList<Map.Entry<String, String>>();
        c.path("headers").fields().forEachRemaining(h -> headers.add(Map.entry(h.getKey(), h.getValue().asText())));
        return new Server.Reply(c.path("status").asInt(), headers, c.path("body").asText().getBytes(StandardCharsets.UTF_8), c.path("content_length").asInt(0),
            c.path("drop").asBoolean());
    }

    @TestFactory
    Stream<DynamicTest> responses() {
        var set = kit("responses.json");
        return each(set.get("cases"), c -> {
            try (var server = new Server(exchange -> reply(c))) {
                var client = new Countersign(server.url(), "sk_test_x", 0, Duration.ofSeconds(10));
                var asked = request(set.get("recorded").get(c.get("of").asInt()).get("request"));
                if (c.get("outcome").asText().equals("decision")) {
                    assertEquals(JSON.readTree(c.get("body").asText()).get("id").asText(), client.authorize(asked).id());
                    return;
                }
                var failed = assertThrows(CountersignException.class, () -> client.authorize(asked), c.get("guard").asText());
                assertEquals(c.get("outcome").asText(), outcome(failed), failed.getMessage());
                if (c.has("code")) assertEquals(c.get("code").asText(), failed.code());
                else if (c.get("outcome").asText().equals("refused")) assertEquals("", failed.code());
                if (c.has("retry_after")) assertEquals(c.get("retry_after").asLong(), failed.retryAfter().toSeconds());
            }
        });
    }

    @TestFactory
    Stream<DynamicTest> retries() {
        var set = kit("retries.json");
        return each(set.get("scripts"), s -> {
            List<String> keys = new ArrayList<>();
            try (var server = new Server(body -> {
                var step = s.get("steps").get(keys.size() % s.get("steps").size());
                keys.add(body.get("idempotency_key").asText());
                return reply(step);
            })) {
                var client = new Countersign(server.url(), "sk_test_x", 2, Duration.ofSeconds(10));
                var asked = request(set.get("recorded").get("request"));
                if (s.get("outcome").asText().equals("decision")) client.authorize(asked);
                else assertEquals(s.get("outcome").asText(), outcome(assertThrows(CountersignException.class, () -> client.authorize(asked))));
                assertEquals(s.get("attempts").asInt(), keys.size());
                assertEquals(1, new HashSet<>(keys).size());
            }
        });
    }

    @TestFactory
    Stream<DynamicTest> requests() {
        return each(kit("requests.json").get("cases"), c -> {
            var sent = new ArrayList<JsonNode>();
            try (var server = new Server(body -> {
                sent.add(body);
                return reply(c.get("response"));
            })) {
                var client = new Countersign(server.url(), "sk_test_x", 0, Duration.ofSeconds(10));
                switch (c.get("operation").asText()) {
                    case "authorize" -> client.authorize(request(c.get("body")));
                    case "createChallengeLink" -> client.challengeLink(c.at("/path/challenge_id").asText());
                    default -> {
                        return; // lists have no method of their own
                    }
                }
            }
            var wanted = c.get("request");
            var segments = new ArrayList<String>();
            for (var segment : sent.get(0).get("path").asText().substring(1).split("/")) segments.add(URLDecoder.decode(segment, StandardCharsets.UTF_8));
            assertEquals(JSON.valueToTree(segments), wanted.get("segments"));
            for (var header : (Iterable<Map.Entry<String, JsonNode>>) wanted.get("headers")::fields) {
                var got = sent.get(0).at("/headers/" + header.getKey().toLowerCase(Locale.ROOT)).asText();
                if (header.getValue().asText().equals("*")) assertFalse(got.isEmpty(), header.getKey());
                else assertEquals(header.getValue().asText(), got, header.getKey());
            }
            if (wanted.get("body").isObject()) wanted.get("body").fields().forEachRemaining(f -> assertEquals(plain(f.getValue()), plain(sent.get(0).path(f.getKey())), f.getKey()));
        });
    }

    /** The value, whose numbers are compared by their value. */
    private static Object plain(JsonNode v) {
        return v.isMissingNode() ? "missing" : Canonical.of(v);
    }

    private static final class MovedClock extends Clock {
        private Instant now = Instant.EPOCH;

        @Override
        public ZoneOffset getZone() {
            return ZoneOffset.UTC;
        }

        @Override
        public Clock withZone(ZoneId zone) {
            return this;
        }

        @Override
        public Instant instant() {
            return now;
        }
    }

    @TestFactory
    Stream<DynamicTest> keySets() {
        var set = kit("keys.json");
        var x = set.get("expect");
        var expect = Expect.of(x.get("action").asText(), x.get("subject").asText(), new Resource(x.at("/resource/type").asText(), x.at("/resource/id").asText()), map(x.get("context")));
        return each(set.get("scripts"), s -> {
            var clock = new MovedClock();
            var fetches = new AtomicInteger();
            try (var server = new Server(body -> reply(s.get("steps").get(fetches.getAndIncrement() % s.get("steps").size())))) {
                var verifier = new ProofVerifier(server.url(), set.get("issuer").asText(), set.get("environment").asText(), set.get("audience").asText(), Duration.ZERO, clock);
                for (var check : s.get("checks")) {
                    clock.now = Instant.ofEpochSecond(set.get("now").asLong() + check.get("at").asLong());
                    var got = "valid";
                    try {
                        verifier.verify(check.get("proof").asText(), expect);
                    } catch (CountersignException e) {
                        got = e.unavailable() ? "unavailable" : e.code();
                    }
                    assertEquals(check.get("outcome").asText(), got, "after " + check.get("at") + " s");
                }
                assertEquals(s.get("fetches").asInt(), fetches.get());
            }
        });
    }

    @TestFactory
    Stream<DynamicTest> streams() {
        return each(kit("streams.json").get("scripts"), s -> {
            var resumed = new ArrayList<String>();
            var got = JSON.createArrayNode();
            try (var server = new Server(body -> {
                resumed.add(body.at("/headers/last-event-id").asText());
                return reply(s.get("steps").get((resumed.size() - 1) % s.get("steps").size()));
            }); var events = new EventStream(new Countersign(server.url(), "sk_test_x"), Map.of(), s.path("last_event_id").textValue(), Duration.ofMillis(1))) {
                if (s.get("outcome").asText().equals("events")) {
                    while (got.size() < s.get("events").size()) got.add(JSON.valueToTree(events.next()));
                    assertEquals(s.get("events"), got);
                } else {
                    assertEquals(s.get("outcome").asText(), outcome(assertThrows(CountersignException.class, events::next)));
                }
                assertEquals(s.get("resumed"), JSON.valueToTree(resumed));
            }
        });
    }

    @Test
    void aClosedStreamEnds() throws Exception {
        var opened = new CountDownLatch(1);
        try (var server = new Server(body -> {
            opened.countDown();
            return new Server.Reply(200, List.of(Map.entry("Content-Type", "text/event-stream")), ": hello\n\n".getBytes(StandardCharsets.UTF_8), 0, false);
        })) {
            var events = new Countersign(server.url(), "sk_test_x").events(Map.of("type", "hold.*"), null);
            var failed = CompletableFuture.supplyAsync(() -> assertThrows(CountersignException.class, events::next));
            opened.await();
            events.close();
            assertTrue(failed.get().unavailable());
        }
    }
}
