package dev.countersign.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.countersign.Ask;
import dev.countersign.Gate;
import dev.countersign.Resource;
import dev.countersign.Service;
import dev.countersign.Webhooks;
import dev.countersign.servlet.CountersignFilter;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.math.BigDecimal;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.web.server.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.http.HttpMethod;
import org.springframework.security.access.prepost.PreAuthorize;
import org.springframework.security.authorization.AuthorizationDeniedException;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.method.configuration.EnableMethodSecurity;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** An application of Spring Boot on its own server, before a service that decides as it is told. */
class StarterTest {
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    private Service service;
    private ServletWebServerApplicationContext application;

    /** Counts what was carried out. */
    static class Ledger {
        private final AtomicInteger transfers = new AtomicInteger();

        public String move() {
            return "moved " + transfers.incrementAndGet();
        }

        public int count() {
            return transfers.getAndSet(0);
        }

        @Countersigned(action = "payments.transfer", resourceType = "account", resource = "#to", context = "{amount: #amount}")
        public String transfer(String to, BigDecimal amount) {
            return move();
        }

        @Countersigned(action = "payments.transfer", resourceType = "account", resource = "#to", context = "{amount: #amount}", proofRequired = true)
        public String transferProven(String to, BigDecimal amount) {
            return move();
        }

        @PreAuthorize("hasRole('TELLER')")
        @Countersigned(action = "payments.transfer", resourceType = "account", resource = "#to")
        public String transferAsTeller(String to) {
            return move();
        }
    }

    @RestController
    static class Routes {
        private final Ledger ledger;

        Routes(Ledger ledger) {
            this.ledger = ledger;
        }

        @PostMapping("/method")
        String method(@RequestParam String to, @RequestParam BigDecimal amount) {
            return ledger.transfer(to, amount);
        }

        @PostMapping("/proven")
        String proven(@RequestParam String to, @RequestParam BigDecimal amount) {
            return ledger.transferProven(to, amount);
        }

        @PostMapping("/teller")
        String teller(@RequestParam String to) {
            return ledger.transferAsTeller(to);
        }

        @PostMapping({"/route", "/proven-route"})
        Callable<String> route(HttpServletRequest request) {
            return () -> request.getAttribute(CountersignFilter.OUTCOME) instanceof Gate.Outcome.Allowed ? ledger.move() : "unguarded";
        }
    }

    @SpringBootConfiguration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @EnableMethodSecurity
    @Import({Ledger.class, Routes.class})
    static class Application {
        @Bean
        SecurityFilterChain chain(HttpSecurity http, CountersignGates gates) throws Exception {
            return http.csrf(csrf -> csrf.disable()).httpBasic(Customizer.withDefaults())
                .authorizeHttpRequests(requests -> requests
                    .requestMatchers(HttpMethod.POST, "/route").access(gates.require("payments.transfer", (user, request) -> describe(user.getName(), request)))
                    .requestMatchers(HttpMethod.POST, "/proven-route").access(gates.requireProof("payments.transfer", (user, request) -> describe(user.getName(), request)))
                    .anyRequest().permitAll())
                .build();
        }

        private static Ask describe(String user, HttpServletRequest request) {
            return new Ask(user, new Resource("account", request.getParameter("to")), Map.of("amount", Ask.number("amount", request.getParameter("amount"))));
        }

        @Bean
        InMemoryUserDetailsManager users() {
            return new InMemoryUserDetailsManager(User.withUsername("ada").password("{noop}secret").roles("USER").build());
        }
    }

    @BeforeEach
    void start() throws IOException {
        service = new Service();
        application = start("--countersign.url=" + service.url());
    }

    private static ServletWebServerApplicationContext start(String... arguments) {
        var properties = new TreeMap<String, Object>(Map.of("server.port", 0, "server.address", "127.0.0.1", "countersign.key", "sk_test_x", "countersign.audience", Service.AUDIENCE,
            "countersign.retries", 0, "logging.level.root", "off", "spring.main.banner-mode", "off"));
        var application = new SpringApplication(Application.class);
        application.setDefaultProperties(properties);
        return (ServletWebServerApplicationContext) application.run(arguments);
    }

    @AfterEach
    void stop() throws IOException {
        application.close();
        service.close();
    }

    private HttpResponse<String> post(String path, String user, String... headers) throws IOException, InterruptedException {
        var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + application.getWebServer().getPort() + path)).POST(HttpRequest.BodyPublishers.noBody());
        if (!user.isEmpty()) request.header("Authorization", "Basic " + Base64.getEncoder().encodeToString((user + ":secret").getBytes()));
        if (headers.length > 0) request.headers(headers);
        return HTTP.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    private record Case(String name, Consumer<Service> service, int status, String body) {}

    /** Every way into the application, in every state of the service. */
    @TestFactory
    Stream<DynamicTest> onlyAnAllowGoesThrough() {
        var cases = List.of(
            new Case("allow", s -> {}, 200, "moved 1"),
            new Case("challenge", s -> s.decision = "challenge", 401, "\"challenge\":{\"id\":\"chl_1\""),
            new Case("hold", s -> s.decision = "hold", 403, "\"decision\":\"hold\""),
            new Case("deny", s -> s.decision = "deny", 403, "\"decision\":\"deny\""),
            new Case("a proof of a forger", s -> s.key = Service.FORGER, 403, "proof_signature_invalid"),
            new Case("a proof for somebody else", s -> s.alter = claims -> claims.put("sub", "mallory"), 403, "proof_action_mismatch"),
            new Case("unavailable", s -> s.status = 503, 503, "\"decision\":\"unavailable\""),
            new Case("a quota is used up", s -> s.status = 429, 503, "\"decision\":\"unavailable\""),
            new Case("a page in place of a response", s -> s.garbled = true, 503, "\"decision\":\"unavailable\""),
            new Case("refused for its content", s -> s.status = 422, 422, "\"decision\":\"refused\""),
            new Case("refused", s -> s.status = 404, 500, "\"decision\":\"refused\""));
        return Stream.of("/method", "/proven", "/route", "/proven-route").flatMap(path -> cases.stream().map(c -> DynamicTest.dynamicTest(path + ": " + c.name, () -> {
            service.reset();
            c.service.accept(service);
            var response = post(path + "?to=acc-1&amount=19", "ada");
            assertEquals(c.status, response.statusCode(), response.body());
            assertTrue(response.body().contains(c.body), response.body());
            assertEquals(c.status == 200 ? 1 : 0, application.getBean(Ledger.class).count());
            assertEquals(c.status == 401, response.headers().firstValue("WWW-Authenticate").orElse("").startsWith("Countersign"));
            assertEquals(c.status == 503, response.headers().firstValue("Retry-After").isPresent());
        })));
    }

    @Test
    void noResponseIsNoDecision() throws Exception {
        service.close();
        for (var path : List.of("/method", "/route")) assertEquals(503, post(path + "?to=acc-1&amount=19", "ada").statusCode());
        assertEquals(0, application.getBean(Ledger.class).count());
    }

    @Test
    void theServiceIsAskedForTheUserAndTheArguments() throws Exception {
        assertEquals(200, post("/method?to=acc-1&amount=19.50", "ada").statusCode());
        var asked = service.asked.get(0);
        assertEquals("ada", asked.get("subject").asText());
        assertEquals("bank.example", asked.get("audience").asText());
        assertEquals("{\"type\":\"account\",\"id\":\"acc-1\"}", asked.get("resource").toString());
        assertEquals("{\"amount\":19.5}", asked.get("context").toString());
    }

    @Test
    void aProofThatThePageBringsIsForOneRequestOnce() throws Exception {
        for (var path : List.of("/method", "/route")) {
            assertEquals(200, post(path + "?to=acc-1&amount=19", "ada").statusCode());
            var proof = service.consumed.iterator().next();
            service.consumed.clear();
            assertEquals(403, post(path + "?to=acc-1&amount=99999", "ada", "Countersign-Proof", proof).statusCode());
            assertEquals(403, post(path + "?to=acc-2&amount=19", "ada", "Countersign-Proof", proof).statusCode());
            assertEquals(200, post(path + "?to=acc-1&amount=19", "ada", "Countersign-Proof", proof).statusCode());
            assertEquals(403, post(path + "?to=acc-1&amount=19", "ada", "Countersign-Proof", proof).statusCode());
            service.consumed.clear();
        }
    }

    @Test
    void theServiceIsNotAskedForWhoIsNotSignedIn() throws Exception {
        for (var path : List.of("/method", "/proven", "/route", "/proven-route")) assertEquals(401, post(path + "?to=acc-1&amount=19", "").statusCode(), path);
        assertTrue(service.asked.isEmpty());
        assertEquals(0, application.getBean(Ledger.class).count());
    }

    @Test
    void otherDenialsStayAsTheyAre() throws Exception {
        assertEquals(403, post("/teller?to=acc-1", "ada").statusCode());
        assertTrue(service.asked.isEmpty(), "the service was asked although the role is missing");
    }

    @Test
    void withoutARequestThereIsNoUserAndNoDecision() {
        assertThrows(org.springframework.security.core.AuthenticationException.class, () -> application.getBean(Ledger.class).transfer("acc-1", BigDecimal.ONE));
        assertTrue(service.asked.isEmpty());
    }

    @Test
    void aJobHasADecisionByTheUserWhomItRunsAs() {
        var context = org.springframework.security.core.context.SecurityContextHolder.createEmptyContext();
        context.setAuthentication(org.springframework.security.authentication.UsernamePasswordAuthenticationToken.authenticated("ada", null, List.of()));
        org.springframework.security.core.context.SecurityContextHolder.setContext(context);
        try {
            assertEquals("moved 1", application.getBean(Ledger.class).transfer("acc-1", BigDecimal.ONE));
            service.decision = "hold";
            var denied = assertThrows(AuthorizationDeniedException.class, () -> application.getBean(Ledger.class).transfer("acc-1", BigDecimal.ONE));
            assertTrue(denied.getAuthorizationResult() instanceof CountersignResult result && result.outcome() instanceof Gate.Outcome.Decided);
        } finally {
            org.springframework.security.core.context.SecurityContextHolder.clearContext();
        }
    }

    @Test
    void modesWithoutProofs() throws Exception {
        service.mode = "shadow";
        service.decision = "deny";
        assertEquals(200, post("/method?to=acc-1&amount=19", "ada").statusCode());
        assertEquals(200, post("/route?to=acc-1&amount=19", "ada").statusCode());
        assertEquals(403, post("/proven?to=acc-1&amount=19", "ada").statusCode());
        assertEquals(403, post("/proven-route?to=acc-1&amount=19", "ada").statusCode());
    }

    @Test
    void failureOpenIsChosenByProperties() throws Exception {
        application.close();
        application = start("--countersign.url=" + service.url(), "--countersign.failure=open", "--countersign.issuer=" + Service.ISSUER, "--countersign.environment=env_1");
        service.status = 503;
        assertEquals(200, post("/method?to=acc-1&amount=19", "ada").statusCode());
        service.status = 429;
        assertEquals(503, post("/method?to=acc-1&amount=19", "ada").statusCode());
    }

    /** What a decision cannot be about is the request's fault, whichever way it comes in. */
    @Test
    void anAmountThatIsNoExactNumberIs400() throws Exception {
        for (var path : List.of("/method", "/proven", "/route", "/proven-route")) {
            for (var parameters : List.of("to=acc-1&amount=much", "to=acc-1&amount=", "to=acc-1", "amount=19", "to=&amount=19", "to=acc-1&amount=1e99",
                "to=acc-1&amount=0.12345678901234567890", "to=acc-1&amount=9007199254740992")) {
                var response = post(path + "?" + parameters, "ada");
                assertEquals(400, response.statusCode(), path + "?" + parameters + " " + response.body());
            }
        }
        assertTrue(service.asked.isEmpty());
        assertEquals(0, application.getBean(Ledger.class).count());
    }

    @Test
    void anArgumentThatIsMissingHasAName() {
        var context = org.springframework.security.core.context.SecurityContextHolder.createEmptyContext();
        context.setAuthentication(org.springframework.security.authentication.UsernamePasswordAuthenticationToken.authenticated("ada", null, List.of()));
        org.springframework.security.core.context.SecurityContextHolder.setContext(context);
        try {
            var denied = assertThrows(AuthorizationDeniedException.class, () -> application.getBean(Ledger.class).transfer("acc-1", null));
            assertTrue(denied.getAuthorizationResult() instanceof CountersignResult result && result.fault() != null && result.fault().getMessage().equals("context.amount is missing"));
        } finally {
            org.springframework.security.core.context.SecurityContextHolder.clearContext();
        }
    }

    @Test
    void aPropertyWithoutItsVariableEndsTheStart() {
        for (var property : List.of("countersign.key", "countersign.url", "countersign.audience", "countersign.webhook-secrets")) {
            var failed = assertThrows(Exception.class, () -> start("--countersign.url=http://x", "--" + property + "=${COUNTERSIGN_TEST_UNSET}").close());
            Throwable cause = failed;
            while (cause.getCause() != null) cause = cause.getCause();
            assertEquals(property + " needs COUNTERSIGN_TEST_UNSET, which is not set", cause.getMessage());
        }
    }

    @Test
    void propertiesThatCannotBe() {
        for (var arguments : List.of(List.of("--countersign.url="), List.of("--countersign.url=ftp://x"), List.of("--countersign.url=http://x", "--countersign.key="),
            List.of("--countersign.url=http://x", "--countersign.audience="), List.of("--countersign.url=http://x", "--countersign.failure=open"),
            List.of("--countersign.url=http://x", "--countersign.issuer=https://x"))) {
            assertThrows(Exception.class, () -> start(arguments.toArray(String[]::new)).close(), arguments.toString());
        }
        assertFalse(application.getBean(CountersignProperties.class).toString().contains("sk_test_x"));
    }

    @Test
    void webhooksByTheirSecrets() {
        assertEquals(0, application.getBeanNamesForType(Webhooks.class).length);
        var secret = "whsec_" + Base64.getEncoder().encodeToString(new byte[24]);
        for (var property : List.of("--countersign.webhook-secrets=" + secret + "," + secret, "--countersign.webhook-secrets[0]=" + secret)) {
            try (var other = start("--countersign.url=" + service.url(), property)) {
                assertEquals(1, other.getBeanNamesForType(Webhooks.class).length, property);
            }
        }
    }
}
