package dev.countersign;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What is about to be done, which a proof must be for. {@link #of} requires all that binds it; {@link #unbound} leaves the comparison of the
 * claims to you.
 */
public record Expect(
    String action, @Nullable String subject, @Nullable Resource resource, @Nullable Map<String, Object> context, @Nullable String nonce) {

    public Expect {
        if (action.isEmpty()) throw new IllegalArgumentException("expected action is missing");
    }

    /** Returns the expectation of an action by a subject on a resource with a context, {} if it has none. */
    public static Expect of(String action, String subject, Resource resource, Map<String, Object> context) {
        if (subject.isEmpty()) throw new IllegalArgumentException("expected subject is missing");
        java.util.Objects.requireNonNull(resource, "expected resource is missing");
        java.util.Objects.requireNonNull(context, "expected context is missing");
        return new Expect(action, subject, resource, context, null);
    }

    /** Returns an expectation that fits every subject, resource and context: compare the claims yourself before you act. */
    public static Expect unbound(String action) {
        return new Expect(action, null, null, null, null);
    }

    /** Returns the expectation with the nonce of the request, if this process made it. */
    public Expect withNonce(String nonce) {
        return new Expect(action, subject, resource, context, nonce);
    }
}
