package dev.countersign;

import java.math.BigDecimal;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a request is about to do. Fill it from the request's session and body, never from what only the page claims about its user. What a
 * decision cannot be about is an IllegalArgumentException that names it, to which a gate responds with 400: a value that is missing, a number
 * that is not exact as a double.
 */
public record Ask(String subject, Resource resource, Map<String, Object> context) {
    public Ask {
        Context.present("subject", subject);
        if (resource == null) throw new IllegalArgumentException("resource is missing");
        context = Context.exact(context);
    }

    /** Returns the number in a parameter of a request. An IllegalArgumentException names one that is missing or is no number. */
    public static BigDecimal number(String name, @Nullable String text) {
        Context.present(name, text);
        try {
            return new BigDecimal(text);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(name + " is not a number", e);
        }
    }
}
