package dev.countersign;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;

/** A decision of the service. Only {@link Allowed} has a proof: verify it before you act. */
public sealed interface Decision {
    /** Returns the id of the authorization. */
    String id();

    /** Returns test, shadow or enforce. In mode shadow no decision refuses anything. */
    String mode();

    /** Returns the reasons, of the service's catalogue. */
    List<String> reasonCodes();

    /** Returns the whole response. */
    JsonNode response();

    /** An allow in mode enforce, with its proof. */
    record Allowed(String id, String mode, List<String> reasonCodes, JsonNode response, String proof) implements Decision {
        /** Leaves out the proof. */
        @Override
        public String toString() {
            return "Allowed[" + id + "]";
        }
    }

    /** An allow in mode test or shadow, which issue no proofs. */
    record Unproven(String id, String mode, List<String> reasonCodes, JsonNode response) implements Decision {}

    /** The user must confirm; the challenge is empty in mode shadow. */
    record Challenged(String id, String mode, List<String> reasonCodes, JsonNode response, String challenge) implements Decision {}

    /** A reviewer must approve. */
    record Held(String id, String mode, List<String> reasonCodes, JsonNode response) implements Decision {}

    /** The action is denied. */
    record Denied(String id, String mode, List<String> reasonCodes, JsonNode response) implements Decision {}

    /** Reads a response that matches the contract. */
    static Decision of(JsonNode r) {
        var id = r.get("id").asText();
        var mode = r.get("mode").asText();
        var codes = texts(r.get("reason_codes"));
        return switch (r.get("decision").asText()) {
            case "allow" -> mode.equals("enforce") ? new Allowed(id, mode, codes, r, r.get("proof").asText()) : new Unproven(id, mode, codes, r);
            case "challenge" -> new Challenged(id, mode, codes, r, r.path("challenge").path("id").asText(""));
            case "hold" -> new Held(id, mode, codes, r);
            default -> new Denied(id, mode, codes, r);
        };
    }

    private static List<String> texts(JsonNode list) {
        var out = new java.util.ArrayList<String>();
        list.forEach(v -> out.add(v.asText()));
        return List.copyOf(out);
    }
}
