package dev.countersign;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.StringJoiner;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Checks responses against the rules generated from the contract (contract.gen.json), and against themselves and their request. */
final class Contract {
    private static final JsonNode RULES = load();
    private static final Pattern COMPACT = Pattern.compile("[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+");
    private static final int LONGEST_PROOF = 8192;

    private Contract() {}

    private static JsonNode load() {
        try (var in = Contract.class.getResourceAsStream("contract.gen.json")) {
            return Json.MAPPER.readTree(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Where an operation is called: its method, the template of its path, and the names of its query. */
    record Target(String operation, String method, String path, Set<String> query, boolean keyed) {
        /** Returns the path and the query of a call. */
        String locate(Map<String, ?> parameters) {
            var found = path;
            var query = new StringJoiner("&", "?", "").setEmptyValue("");
            for (var p : parameters.entrySet()) {
                var name = p.getKey();
                var value = Countersign.escaped(String.valueOf(Objects.requireNonNull(p.getValue(), name)));
                if (path.contains("{" + name + "}")) found = found.replace("{" + name + "}", value);
                else if (this.query.contains(name)) query.add(name + "=" + value);
                else throw new IllegalArgumentException(operation + " has no parameter " + name);
            }
            if (found.contains("{")) throw new IllegalArgumentException(operation + " needs the parameters of its path " + path);
            return found + query;
        }
    }

    /** Returns where an operation is called. */
    static Target target(String operation) {
        var found = RULES.path("operations").path(operation);
        if (found.isMissingNode()) throw new IllegalArgumentException("the contract has no operation " + operation);
        var query = new LinkedHashSet<String>();
        found.path("query").forEach(name -> query.add(name.asText()));
        return new Target(operation, found.get("method").asText(), found.get("path").asText(), query, found.path("keyed").asBoolean());
    }

    /** Returns the rule of a response: null for none, a missing node if the contract has no response with this status. */
    static JsonNode rule(String operation, int status) {
        return RULES.path("responses").path(operation).path(Integer.toString(status));
    }

    /** Describes how a value violates the rule; null if it does not. */
    static @Nullable String breach(JsonNode given, JsonNode v, String at) {
        var rule = given;
        while (rule.has("ref")) rule = RULES.path("schemas").path(rule.get("ref").asText());
        if (rule.has("any_of")) {
            String last = null;
            for (var alternative : rule.get("any_of")) {
                last = breach(alternative, v, at);
                if (last == null) return null;
            }
            return last;
        }
        if (rule.has("type") && !anyOf(rule.get("type"), kind -> is(kind.asText(), v))) return at + " is of another type";
        if (rule.has("enum") && !anyOf(rule.get("enum"), v::equals)) return at + " is none of the values of the contract";
        if (v.isTextual() && rule.path("format").asText().equals("date-time") && !isTime(v.asText())) return at + " is not an RFC 3339 time";
        if (v.isNumber() && (rule.has("minimum") && v.doubleValue() < rule.get("minimum").doubleValue()
            || rule.has("maximum") && v.doubleValue() > rule.get("maximum").doubleValue())) return at + " is out of range";
        if (v.isArray()) {
            for (var item : v) {
                var wrong = breach(rule.path("items"), item, at + "[]");
                if (wrong != null) return wrong;
            }
        }
        return v.isObject() ? members(rule, v, at) : null;
    }

    private static @Nullable String members(JsonNode rule, JsonNode v, String at) {
        var folded = new HashSet<String>();
        rule.path("properties").fieldNames().forEachRemaining(name -> folded.add(name.toLowerCase(Locale.ROOT)));
        for (var names = v.fieldNames(); names.hasNext(); ) {
            var name = names.next();
            var property = rule.path("properties").path(name);
            if (property.isMissingNode() && folded.contains(name.toLowerCase(Locale.ROOT))) return at + " has a field whose name is spelled otherwise";
            var known = !property.isMissingNode();
            var wrong = breach(known ? property : rule.path("additional"), v.get(name), at + "." + (known ? name : "*"));
            if (wrong != null) return wrong;
        }
        for (var name : rule.path("required")) {
            if (!v.has(name.asText())) return at + "." + name.asText() + " is missing";
        }
        return null;
    }

    private static boolean anyOf(JsonNode list, java.util.function.Predicate<JsonNode> matches) {
        for (var v : list) {
            if (matches.test(v)) return true;
        }
        return false;
    }

    private static boolean is(String kind, JsonNode v) {
        return switch (kind) {
            case "null" -> v.isNull();
            case "string" -> v.isTextual();
            case "boolean" -> v.isBoolean();
            case "integer" -> v.isIntegralNumber();
            case "number" -> v.isNumber();
            case "array" -> v.isArray();
            default -> v.isObject();
        };
    }

    private static boolean isTime(String text) {
        try {
            OffsetDateTime.parse(text);
            return true;
        } catch (DateTimeParseException e) {
            return false;
        }
    }

    /** Describes how a response contradicts itself or its request; null if it does not. */
    static @Nullable String contradiction(String operation, @Nullable JsonNode asked, JsonNode told) {
        return switch (operation) {
            case "authorize" -> {
                var wrong = ofDecision(told);
                yield wrong != null || asked == null ? wrong : echo(asked, told);
            }
            case "verifyProof" -> asked == null ? null : ofVerification(asked, told);
            default -> null;
        };
    }

    private static @Nullable String ofDecision(JsonNode told) {
        var decision = told.get("decision").asText();
        var mode = told.get("mode").asText();
        boolean proven = decision.equals("allow") && mode.equals("enforce");
        boolean stepUp = decision.equals("challenge") && !mode.equals("shadow");
        var proof = told.path("proof").asText("");
        if (told.get("id").asText().isEmpty() || told.get("environment").asText().isEmpty() || told.get("action_hash").asText().isEmpty()) {
            return "id, environment or action_hash is empty";
        }
        if (proven != told.hasNonNull("proof") || proven != told.hasNonNull("proof_id") || proven && told.get("proof_id").asText().isEmpty()) {
            return "a proof comes with allow in mode enforce, and with nothing else";
        }
        if (proven && (proof.length() > LONGEST_PROOF || !COMPACT.matcher(proof).matches())) return "proof is not a compact JWS";
        if (stepUp != told.hasNonNull("challenge")) return "a challenge comes with the decision challenge in the modes test and enforce, and with nothing else";
        if (stepUp && (told.get("challenge").get("id").asText().isEmpty() || told.get("challenge").get("methods").isEmpty())) return "challenge has no id or no method";
        return null;
    }

    private static @Nullable String echo(JsonNode asked, JsonNode told) {
        if (!asked.path("action").equals(told.path("action"))) return "action is not the one of the request";
        return asked.path("subject").equals(told.path("assurance").path("subject")) ? null : "assurance.subject is not the one of the request";
    }

    private static @Nullable String ofVerification(JsonNode asked, JsonNode told) {
        if (!told.get("valid").asBoolean()) return null;
        var claims = told.get("claims");
        if (!claims.isObject()) return "valid comes without claims";
        if (!told.get("status").asText().equals(asked.path("consume").asBoolean() ? "consumed" : "active")) return "valid does not go with status";
        for (var code : told.get("reason_codes")) {
            if (!code.asText().equals("audience_not_checked")) return "valid does not go with reason_codes";
        }
        boolean same = (!asked.has("audience") || asked.get("audience").equals(claims.path("aud")))
            && (!asked.has("nonce") || asked.get("nonce").equals(claims.path("nonce")))
            && (!asked.has("subject") || asked.get("subject").equals(claims.path("sub")))
            && (!asked.has("action") || asked.get("action").equals(claims.path("act").path("key")))
            && (!asked.has("context") || Canonical.digest(asked.get("context")).equals(claims.path("ctx").asText()));
        return same ? null : "claims are not those of the request";
    }
}
