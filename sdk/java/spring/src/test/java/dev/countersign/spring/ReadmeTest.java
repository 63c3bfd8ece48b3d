package dev.countersign.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.countersign.Readme;
import dev.countersign.Service;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Properties;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.web.server.servlet.context.ServletWebServerApplicationContext;

/** Compiles the examples of README.md and runs them as an application. */
class ReadmeTest {
    private static final String CLASS = """
        import dev.countersign.*;
        import dev.countersign.spring.*;
        import java.math.BigDecimal;
        import java.util.Map;
        import org.springframework.boot.SpringBootConfiguration;
        import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
        import org.springframework.context.annotation.*;
        import org.springframework.http.*;
        import org.springframework.security.config.Customizer;
        import org.springframework.security.config.annotation.method.configuration.EnableMethodSecurity;
        import org.springframework.security.config.annotation.web.builders.HttpSecurity;
        import org.springframework.security.core.userdetails.User;
        import org.springframework.security.provisioning.InMemoryUserDetailsManager;
        import org.springframework.security.web.SecurityFilterChain;
        import org.springframework.stereotype.Component;
        import org.springframework.stereotype.Service;
        import org.springframework.web.bind.annotation.*;

        @SpringBootConfiguration(proxyBeanMethods = false)
        @EnableAutoConfiguration
        @EnableMethodSecurity
        @Import({Subjects.class, Payments.class, CountersignEvents.class, Routes.class})
        public class Example {
            @Bean
            InMemoryUserDetailsManager users() {
                return new InMemoryUserDetailsManager(User.withUsername("ada").password("{noop}secret").roles("USER").build());
            }

            %s
        }

        @RestController
        class Routes {
            private final Payments payments;
            private final Subjects subjects;

            Routes(Payments payments, Subjects subjects) {
                this.payments = payments;
                this.subjects = subjects;
            }

            @GetMapping("/sign-up") // a GET, which needs no token against forgery
            void signUp() throws CountersignException {
                subjects.signedUp("ada");
            }

            @GetMapping("/pay")
            String pay(@RequestParam String to, @RequestParam BigDecimal amount) {
                return payments.transfer(to, amount);
            }
        }

        %s
        %s
        %s
        """;

    @Test
    void theExamplesAreAnApplication(@TempDir Path folder) throws Exception {
        var readme = new Readme(Path.of("README.md"));
        var names = List.of("route", "subject", "method", "webhook");
        assertEquals(names.size() + 1, readme.examples());
        var secret = new byte[24];
        var properties = new Properties();
        properties.load(new java.io.StringReader(readme.example("properties").replace("${COUNTERSIGN_KEY}", "sk_test_x")
            .replace("${WEBHOOK_SECRET}", "whsec_" + Base64.getEncoder().encodeToString(secret))));
        try (var service = new Service()) {
            properties.putAll(java.util.Map.of("countersign.url", service.url(), "server.port", 0, "server.address", "127.0.0.1", "logging.level.root", "off", "spring.main.banner-mode", "off"));
            var type = Readme.compile(folder, "Example", CLASS.formatted(names.stream().map(readme::example).toArray()));
            var application = new SpringApplication(type);
            application.setDefaultProperties(properties);
            Thread.currentThread().setContextClassLoader(type.getClassLoader());
            try (var running = (ServletWebServerApplicationContext) application.run()) {
                var url = "http://127.0.0.1:" + running.getWebServer().getPort();
                assertEquals(200, send(url + "/sign-up", null).statusCode());
                assertEquals(List.of("ada"), service.subjects);
                assertEquals("moved 12.50", send(url + "/pay?to=acc-1&amount=12.50", null).body());
                service.decision = "challenge";
                assertEquals(401, send(url + "/pay?to=acc-1&amount=12.50", null).statusCode());
                assertEquals(400, send(url + "/pay?to=acc-1&amount=much", null).statusCode());

                var body = "{\"type\":\"hold.approved\",\"timestamp\":\"2026-11-21T09:30:00Z\",\"data\":{}}";
                assertEquals("200 evt_1 hold.approved", received(url, secret, body, body));
                assertEquals("400 ", received(url, secret, body, body + " "));
            } finally {
                Thread.currentThread().setContextClassLoader(ReadmeTest.class.getClassLoader());
            }
        }
    }

    private static HttpResponse<String> send(String url, HttpRequest.BodyPublisher body, String... headers) throws Exception {
        var request = HttpRequest.newBuilder(URI.create(url));
        if (body == null) request.header("Authorization", "Basic " + Base64.getEncoder().encodeToString("ada:secret".getBytes(StandardCharsets.UTF_8)));
        else request.POST(body).header("Content-Type", "application/json").headers(headers);
        return HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    /** Delivers a body with the signature of another, or of its own. */
    private static String received(String url, byte[] secret, String signed, String body) throws Exception {
        var stamp = Long.toString(System.currentTimeMillis() / 1000);
        var mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(secret, "HmacSHA256"));
        var signature = Base64.getEncoder().encodeToString(mac.doFinal(("evt_1." + stamp + "." + signed).getBytes(StandardCharsets.UTF_8)));
        var response = send(url + "/webhooks/countersign", HttpRequest.BodyPublishers.ofString(body), "webhook-id", "evt_1", "webhook-timestamp", stamp, "webhook-signature", "v1," + signature);
        return response.statusCode() + " " + response.body();
    }
}
