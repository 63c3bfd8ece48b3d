package dev.countersign;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The request to decide whether a subject, which exists, may perform an action. Keep it to repeat the attempt: a repetition returns the stored
 * response. A number in the context that is not exact as a double is an IllegalArgumentException: send it as a text.
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record AuthorizeRequest(
    String subject, String action, Resource resource, String audience, Map<String, Object> context, @Nullable String session,
    @JsonProperty("requested_at") long requestedAt, String nonce, @JsonProperty("idempotency_key") String idempotencyKey) {

    private static final SecureRandom RANDOM = new SecureRandom();

    public AuthorizeRequest {
        Objects.requireNonNull(subject, "subject");
        Objects.requireNonNull(action, "action");
        Objects.requireNonNull(resource, "resource");
        context = Context.exact(context);
    }

    /** Returns a request of now with a fresh nonce and idempotency key. */
    public static AuthorizeRequest of(String subject, String action, Resource resource, String audience, Map<String, Object> context) {
        return new AuthorizeRequest(subject, action, resource, audience, context, null, System.currentTimeMillis() / 1000, fresh(), fresh());
    }

    static String fresh() {
        var bytes = new byte[16];
        RANDOM.nextBytes(bytes);
        return HexFormat.of().formatHex(bytes);
    }
}
