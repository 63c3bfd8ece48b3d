package dev.countersign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.countersign.servlet.CountersignFilter;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compiles the examples of README.md and runs them. */
class ReadmeTest {
    private static final String CLASS = """
        import dev.countersign.*;
        import dev.countersign.servlet.CountersignFilter;
        import jakarta.servlet.http.HttpServletRequest;
        import java.math.BigDecimal;
        import java.net.URI;
        import java.util.*;

        public class Example {
            public final List<String> done = new ArrayList<>();
            private final Countersign client = new Countersign(System.getProperty("COUNTERSIGN_URL"), "sk_test_x");

            void transfer(Resource account, Map<String, Object> payment) {
                done.add("transfer " + payment.get("amount"));
            }

            void redirect(URI page) {
                done.add("redirect to " + page);
            }

            void store(StreamedEvent event) {
                done.add(event.id());
            }

            public void decide() throws CountersignException {
                %s
                %s
            }

            public CountersignFilter filter() {
                var verifier = new ProofVerifier(System.getProperty("COUNTERSIGN_URL"), "https://countersign.example", "env_1", "payments");
                %s
                return filter;
            }

            public %s

            %s

            public int receive(byte[] body) {
                return receive(body, null);
            }

            public void follow(String lastId) throws Exception {
                %s
            }
        }
        """;

    @Test
    void theExamplesDoWhatTheySay(@TempDir Path folder) throws Exception {
        var readme = new Readme(Path.of("README.md"));
        var names = List.of("decision", "outcome", "gate", "confirmation", "webhook", "events");
        assertEquals(names.size(), readme.examples());
        try (var service = new Service()) {
            System.setProperty("COUNTERSIGN_URL", service.url());
            System.setProperty("COUNTERSIGN_KEY", "sk_test_x");
            System.setProperty("WEBHOOK_SECRET", "whsec_" + "A".repeat(32));
            var type = Readme.compile(folder, "Example", CLASS.formatted(names.stream().map(readme::example).toArray()));
            var example = type.getConstructor().newInstance();
            var decide = type.getMethod("decide");
            decide.invoke(example);
            service.decision = "challenge";
            decide.invoke(example);
            assertEquals(List.of("transfer 250.00", "redirect to " + Service.ISSUER + "/challenge/chl_1#"), type.getField("done").get(example));
            assertEquals(List.of("user-1", "user-1"), service.subjects);

            var confirmation = type.getDeclaredMethod("confirmation", String.class, String.class);
            assertEquals(Map.of("confirm", Service.ISSUER + "/challenge/chl_1#https://shop.example/transfer"), confirmation.invoke(example, "user-1", "azn_1"));
            var refused = assertThrows(InvocationTargetException.class, () -> confirmation.invoke(example, "mallory", "azn_1"));
            assertTrue(refused.getCause() instanceof SecurityException);
            service.confirmed = true;
            assertEquals(Map.of("proof", "a.b.c"), confirmation.invoke(example, "user-1", "azn_1"));

            assertTrue(type.getMethod("filter").invoke(example) instanceof CountersignFilter);
        }
    }

    @Test
    void whatTheContractDoesNotHaveIsNotSent() throws Exception {
        var sent = new java.util.concurrent.atomic.AtomicInteger();
        try (var server = new Server(body -> {
            sent.incrementAndGet();
            return Server.Reply.json(404, "{}");
        })) {
            var client = new Countersign(server.url(), "sk_test_x");
            for (var c : List.of(
                Map.entry("reportOutcom", Map.of("authorization_id", "azn_1")), Map.entry("reportOutcome", Map.of("authorization", "azn_1")),
                Map.entry("reportOutcome", Map.<String, String>of()), Map.entry("listReviews", Map.of("limits", "2")))) {
                assertThrows(IllegalArgumentException.class, () -> client.call(c.getKey(), c.getValue(), Map.of("outcome", "executed")), c.toString());
            }
            assertEquals(0, sent.get());
            var path = new StringBuilder();
            try (var other = new Server(body -> {
                path.append(body.get("path").asText()).append(' ').append(body.at("/headers/idempotency-key").asText("none"));
                return Server.Reply.json(404, "{\"code\":\"not_found\"}");
            })) {
                var failed = assertThrows(CountersignException.class, () -> new Countersign(other.url(), "sk_test_x").call("listPasskeys", Map.of("subject_id", "a/b?c", "limit", 2), null));
                assertEquals("not_found", failed.code());
            }
            assertEquals("/api/v1/subjects/a%2Fb%3Fc/passkeys?limit=2 none", path.toString());
        }
    }

    @Test
    void numbersThatAreNotExactAreNamed() {
        var account = new Resource("account", "acc-1");
        for (var amount : List.of(new java.math.BigDecimal("0.12345678901234567890"), Long.MAX_VALUE, new java.math.BigInteger("9007199254740992"), Double.NaN,
            new java.math.BigDecimal("1e999999"), "\uD800")) {
            var refused = assertThrows(IllegalArgumentException.class, () -> new Ask("user-1", account, Map.of("line", List.of(Map.of("amount", amount)))), amount.toString());
            assertTrue(refused.getMessage().startsWith("context.line[0].amount "), refused.getMessage());
            assertThrows(IllegalArgumentException.class, () -> AuthorizeRequest.of("user-1", "a", account, "payments", Map.of("amount", amount)));
        }
        for (var amount : List.of(new java.math.BigDecimal("250.00"), new java.math.BigDecimal("0.1"), new java.math.BigDecimal("1e3"), (1L << 53) - 1, 1.5)) {
            assertEquals(amount, new Ask("user-1", account, Map.of("amount", amount)).context().get("amount"));
        }
        for (var text : new String[] {null, "", "much"}) {
            assertTrue(assertThrows(IllegalArgumentException.class, () -> Ask.number("amount", text)).getMessage().startsWith("amount is "));
        }
        assertThrows(IllegalArgumentException.class, () -> new Ask("", account, Map.of()));
        assertThrows(IllegalArgumentException.class, () -> new Resource("account", null));
    }
}
