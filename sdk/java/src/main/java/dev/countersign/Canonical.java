package dev.countersign;

import com.fasterxml.jackson.core.io.NumberOutput;
import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** RFC 8785 canonical JSON and the digests of docs/proof.md. */
public final class Canonical {
    private static final BigInteger MOST = BigInteger.valueOf((1L << 53) - 1);

    private Canonical() {}

    /** Returns the canonical JSON of a value: a Map, a JsonNode, a record. Throws IllegalArgumentException if it has none. */
    public static String of(@Nullable Object value) {
        var out = new StringBuilder();
        write(Json.MAPPER.valueToTree(value), out);
        return out.toString();
    }

    /** Returns sha256: and the hex SHA-256 of the canonical form. */
    public static String digest(@Nullable Object value) {
        return "sha256:" + HexFormat.of().formatHex(sha256(of(value).getBytes(StandardCharsets.UTF_8)));
    }

    /** Returns res.digest of a proof. */
    public static String resourceDigest(Resource resource) {
        return digest(Map.of("type", resource.type(), "id", resource.id()));
    }

    static byte[] sha256(byte[] text) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(text);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every JDK has it
        }
    }

    private static void write(JsonNode v, StringBuilder out) {
        switch (v.getNodeType()) {
            case OBJECT -> {
                var members = new TreeMap<String, JsonNode>(); // String compares UTF-16 code units, as RFC 8785 does
                v.fields().forEachRemaining(m -> members.put(m.getKey(), m.getValue()));
                out.append('{');
                members.forEach((name, member) -> {
                    if (out.charAt(out.length() - 1) != '{') out.append(',');
                    text(name, out);
                    out.append(':');
                    write(member, out);
                });
                out.append('}');
            }
            case ARRAY -> {
                out.append('[');
                for (int i = 0; i < v.size(); i++) {
                    if (i > 0) out.append(',');
                    write(v.get(i), out);
                }
                out.append(']');
            }
            case STRING -> text(v.textValue(), out);
            case NUMBER -> out.append(number(v));
            case BOOLEAN, NULL -> out.append(v.asText());
            default -> throw new IllegalArgumentException("a value has no JSON");
        }
    }

    static boolean isUnicode(String s) {
        return StandardCharsets.UTF_8.newEncoder().canEncode(s); // not half of a surrogate pair
    }

    private static void text(String s, StringBuilder out) {
        if (!isUnicode(s)) throw new IllegalArgumentException("a text has half of a surrogate pair, which is not Unicode");
        out.append('"');
        for (int i = 0; i < s.length(); i++) {
            char c = s.charAt(i);
            int named = "\b\t\n\f\r\"\\".indexOf(c);
            if (named >= 0) out.append('\\').append("btnfr\"\\".charAt(named));
            else if (c < 0x20) out.append(String.format("\\u%04x", (int) c));
            else out.append(c);
        }
        out.append('"');
    }

    private static String number(JsonNode v) {
        if (v.isIntegralNumber() && v.bigIntegerValue().abs().compareTo(MOST) > 0) {
            throw new IllegalArgumentException("an integer beyond 2^53-1 is not exact: send it as a text");
        }
        return number(v.doubleValue());
    }

    /** Writes a number as ECMAScript does: the shortest digits that read back as the same double. */
    static String number(double n) {
        if (!Double.isFinite(n)) throw new IllegalArgumentException("a number has no JSON");
        if (n == 0) return "0";
        var shortest = new BigDecimal(NumberOutput.toString(Math.abs(n), true)).stripTrailingZeros(); // Double.toString is not the shortest before JDK 19
        var one = shortest.round(new MathContext(1)); // it has two digits where one would do, such as 4.9E-324
        if (one.doubleValue() == Math.abs(n)) shortest = one.stripTrailingZeros();
        var digits = shortest.unscaledValue().toString();
        int point = digits.length() - shortest.scale();
        String text;
        if (point > 21 || point <= -6) {
            text = digits.charAt(0) + (digits.length() > 1 ? "." + digits.substring(1) : "") + "e" + (point > 0 ? "+" : "") + (point - 1);
        } else {
            text = shortest.toPlainString();
        }
        return n < 0 ? "-" + text : text;
    }
}
