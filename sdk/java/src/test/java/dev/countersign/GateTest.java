package dev.countersign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.countersign.servlet.CountersignFilter;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.server.ServerConnector;
import org.junit.jupiter.api.Test;

class GateTest {
    private static final Ask TRANSFER = new Ask("user-1", new Resource("account", "acc-1"), Map.of("amount", 19));

    @Test
    void anAllowGoesThroughByItsProofOnce() throws Exception {
        try (var service = new Service()) {
            var gate = service.gate();
            assertInstanceOf(Gate.Outcome.Allowed.class, gate.check(TRANSFER, null));
            var proof = service.consumed.iterator().next();
            assertEquals(new Gate.Outcome.Refused("proof_consumed"), gate.check(TRANSFER, proof));
            var other = new Ask("user-1", TRANSFER.resource(), Map.of("amount", 99999));
            assertEquals(new Gate.Outcome.Refused("proof_action_mismatch"), gate.check(other, proof));
        }
    }

    @Test
    void aProofForSomethingElseIsRefused() throws Exception {
        for (var c : List.<Map.Entry<String, Consumer<Service>>>of(
            Map.entry("proof_signature_invalid", s -> s.key = Service.FORGER),
            Map.entry("proof_action_mismatch", s -> s.alter = claims -> claims.put("sub", "mallory")),
            Map.entry("proof_action_mismatch", s -> s.alter = claims -> claims.put("ctx", Canonical.digest(Map.of("amount", 1)))),
            Map.entry("proof_nonce_mismatch", s -> s.alter = claims -> claims.put("nonce", "fedcba9876543210")))) {
            try (var service = new Service()) {
                c.getValue().accept(service);
                assertEquals(new Gate.Outcome.Refused(c.getKey()), service.gate().withFailure(Gate.Failure.OPEN).check(TRANSFER, null));
                assertTrue(service.consumed.isEmpty());
            }
        }
    }

    @Test
    void modesWithoutProofs() throws Exception {
        try (var service = new Service()) {
            service.mode = "shadow";
            service.decision = "deny";
            assertInstanceOf(Gate.Outcome.Allowed.class, service.gate().check(TRANSFER, null));
            assertInstanceOf(Gate.Outcome.Decided.class, service.gate().requireProof().check(TRANSFER, null));
            service.mode = "test";
            assertInstanceOf(Gate.Outcome.Decided.class, service.gate().check(TRANSFER, null));
        }
    }

    @Test
    void withoutADecisionTheFailureModeApplies() throws Exception {
        try (var service = new Service()) {
            service.status = 503;
            assertInstanceOf(Gate.Outcome.Undecided.class, service.gate().check(TRANSFER, null));
            assertInstanceOf(Gate.Outcome.Allowed.class, service.gate().withFailure(Gate.Failure.OPEN).check(TRANSFER, null));
            service.status = 429;
            assertInstanceOf(Gate.Outcome.Undecided.class, service.gate().withFailure(Gate.Failure.OPEN).check(TRANSFER, null));
            service.status = 404;
            assertThrows(CountersignException.class, () -> service.gate().withFailure(Gate.Failure.OPEN).check(TRANSFER, null));
        }
        assertFalse(new Countersign(Service.ISSUER, "sk_test_secret").toString().contains("secret"));
    }

    @Test
    void theFilterRunsTheServletOnlyOnAConsumedProof() throws Exception {
        try (var service = new Service()) {
            var jetty = new org.eclipse.jetty.server.Server();
            var connector = new ServerConnector(jetty);
            connector.setHost("127.0.0.1");
            jetty.addConnector(connector);
            var context = new ServletContextHandler();
            context.addFilter(new CountersignFilter(service.gate(), request -> {
                if (request.getParameter("amount") == null) throw new IllegalArgumentException("amount is missing");
                return new Ask("user-1", new Resource("account", "acc-1"), Map.of("amount", Integer.valueOf(request.getParameter("amount"))));
            }), "/*", EnumSet.of(jakarta.servlet.DispatcherType.REQUEST));
            context.addServlet(new jakarta.servlet.http.HttpServlet() {
                private static final long serialVersionUID = 1L;

                @Override
                protected void doPost(jakarta.servlet.http.HttpServletRequest request, jakarta.servlet.http.HttpServletResponse response) throws IOException {
                    response.getWriter().print(request.getAttribute(CountersignFilter.OUTCOME) == null ? "unguarded" : "moved");
                }
            }, "/*");
            jetty.setHandler(context);
            jetty.start();
            try {
                var url = "http://127.0.0.1:" + connector.getLocalPort() + "/pay";
                assertEquals("200 moved", post(url + "?amount=19"));
                assertEquals(1, service.consumed.size());
                service.decision = "challenge";
                assertTrue(post(url + "?amount=19").startsWith("401 {\"authorization\":\"azn_1\",\"challenge\":{\"id\":\"chl_1\""));
                service.decision = "hold";
                assertTrue(post(url + "?amount=19").startsWith("403"));
                assertTrue(post(url).startsWith("400"));
                service.status = 503;
                assertTrue(post(url + "?amount=19").startsWith("503"));
                service.status = 404;
                assertTrue(post(url + "?amount=19").startsWith("500"));
            } finally {
                jetty.stop();
            }
        }
    }

    private static String post(String url) throws IOException, InterruptedException {
        var response = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(url)).POST(HttpRequest.BodyPublishers.noBody()).build(), HttpResponse.BodyHandlers.ofString());
        return response.statusCode() + " " + response.body();
    }
}
