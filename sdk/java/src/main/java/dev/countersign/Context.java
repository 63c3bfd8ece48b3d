package dev.countersign;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The context of a decision. Its digest is of doubles (RFC 8785), so that a number that no double has would be authorized as another one. */
final class Context {
    private static final double MOST = (1L << 53) - 1;

    private Context() {}

    /** Returns a copy. An IllegalArgumentException names what has no exact JSON. */
    static Map<String, Object> exact(@Nullable Map<String, Object> context) {
        if (context == null) throw new IllegalArgumentException("context is missing");
        check(Json.MAPPER.valueToTree(context), "context");
        return Collections.unmodifiableMap(new LinkedHashMap<>(context)); // Map.copyOf refuses a member that is null
    }

    static void present(String name, @Nullable String text) {
        if (text == null || text.isEmpty()) throw new IllegalArgumentException(name + " is missing");
    }

    private static void check(JsonNode v, String at) {
        switch (v.getNodeType()) {
            case OBJECT -> v.fields().forEachRemaining(m -> check(m.getValue(), at + "." + m.getKey()));
            case ARRAY -> {
                for (int i = 0; i < v.size(); i++) check(v.get(i), at + "[" + i + "]");
            }
            case NUMBER -> number(v, at);
            case STRING -> {
                if (!Canonical.isUnicode(v.textValue())) throw new IllegalArgumentException(at + " has half of a surrogate pair, which is not Unicode");
            }
            case BOOLEAN, NULL -> {}
            default -> throw new IllegalArgumentException(at + " has no JSON");
        }
    }

    private static void number(JsonNode v, String at) {
        double n = v.doubleValue();
        if (!(Math.abs(n) <= MOST)) throw new IllegalArgumentException(at + " is not within ±(2^53-1), where numbers are exact: send it as a text");
        if (v.isBigDecimal() && new BigDecimal(Canonical.number(n)).compareTo(v.decimalValue()) != 0) {
            throw new IllegalArgumentException(at + " has more digits than a number is exact to: send it as a text");
        }
    }
}
