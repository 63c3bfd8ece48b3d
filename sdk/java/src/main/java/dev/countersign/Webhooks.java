package dev.countersign;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.function.Function;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/** Verifies webhooks (Standard Webhooks) with one secret, or with several while one replaces the other. */
public final class Webhooks {
    private static final Duration TOLERANCE = Duration.ofMinutes(5);

    private final List<SecretKeySpec> secrets = new ArrayList<>();
    private final Clock clock;

    /** Takes the endpoint's secrets, each whsec_ and base64, as the service showed them. */
    public Webhooks(String... secrets) {
        this(Clock.systemUTC(), secrets);
    }

    /** Takes a clock too, for tests. */
    public Webhooks(Clock clock, String... secrets) {
        this.clock = clock;
        for (var s : secrets) {
            var raw = Base64.getDecoder().decode(s.startsWith("whsec_") ? s.substring(6) : s);
            if (raw.length < 24) throw new IllegalArgumentException("a secret must be whsec_ and the base64 of at least 24 bytes");
            this.secrets.add(new SecretKeySpec(raw, "HmacSHA256"));
        }
        if (this.secrets.isEmpty()) throw new IllegalArgumentException("at least one secret is needed");
    }

    /** A delivered event. The same id arrives again if the service could not know that an earlier attempt succeeded. */
    public record Event(String id, String type, JsonNode data) {}

    /** Returns the event of a delivery, given its raw body and a function that returns a header, such as request::getHeader. An exception of kind INVALID: respond with 400. */
    public Event verify(byte[] body, Function<String, @Nullable String> header) throws CountersignException {
        var id = orEmpty(header.apply("webhook-id"));
        var stamp = orEmpty(header.apply("webhook-timestamp"));
        var signatures = orEmpty(header.apply("webhook-signature")).strip();
        if (id.isEmpty() || !stamp.matches("[0-9]{1,12}") || signatures.isEmpty()) throw CountersignException.invalid("webhook_headers", "a header is missing or malformed");
        if (Math.abs(clock.instant().getEpochSecond() - Long.parseLong(stamp)) > TOLERANCE.toSeconds()) {
            throw CountersignException.invalid("webhook_timestamp", "the timestamp is more than 5 minutes from this machine's clock");
        }
        if (!matches((id + "." + stamp + ".").getBytes(StandardCharsets.UTF_8), body, signatures.split("\\s+"))) {
            throw CountersignException.invalid("webhook_signature", "no signature matches");
        }
        var event = Json.parse(body);
        if (event == null || !event.path("type").isTextual() || !event.path("data").isObject()) throw CountersignException.invalid("webhook_body", "the body is not an event");
        return new Event(id, event.get("type").asText(), event.get("data"));
    }

    private static String orEmpty(@Nullable String value) {
        return value == null ? "" : value;
    }

    private boolean matches(byte[] prefix, byte[] body, String[] signatures) {
        boolean found = false;
        for (var secret : secrets) {
            var wanted = mac(secret, prefix, body);
            for (var s : signatures) {
                if (s.startsWith("v1,")) found |= MessageDigest.isEqual(wanted, decoded(s.substring(3)));
            }
        }
        return found;
    }

    private static byte[] decoded(String text) {
        try {
            return Base64.getDecoder().decode(text);
        } catch (IllegalArgumentException e) {
            return new byte[0];
        }
    }

    private static byte[] mac(SecretKeySpec secret, byte[] prefix, byte[] body) {
        try {
            var mac = Mac.getInstance("HmacSHA256");
            mac.init(secret);
            mac.update(prefix);
            return mac.doFinal(body);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e); // every JDK has it
        }
    }
}
