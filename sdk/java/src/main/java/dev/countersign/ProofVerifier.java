package dev.countersign;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.Signature;
import java.security.interfaces.ECPublicKey;
import java.time.Clock;
import java.time.Duration;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Verifies Proofs of Agency offline with the JDK alone, as docs/proof.md describes. It is safe for concurrent use. It cannot know that a proof
 * was consumed or revoked: consume it at the service, as {@link Gate} does.
 */
public final class ProofVerifier {
    private static final int LONGEST = 8192; // characters
    private static final Duration MOST_LEEWAY = Duration.ofSeconds(60);
    private static final Pattern FORM = Pattern.compile("[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+");
    private static final Set<String> HEADER = Set.of("alg", "kid", "typ");
    private static final String[] TEXTS = {"/iss", "/sub", "/aud", "/jti", "/nonce", "/env", "/env_kind", "/mode", "/azn", "/ctx", "/act/key", "/act/hash",
        "/act/content_hash", "/res/type", "/res/digest"};

    private final String issuer;
    private final String environment;
    private final String audience;
    private final Duration leeway;
    private final Clock clock;
    private final KeySet keys;

    /** Makes a verifier. issuer and environment are proof_issuer and environment of {@link Countersign#credential()}. */
    public ProofVerifier(String baseUrl, String issuer, String environment, String audience) {
        this(baseUrl, issuer, environment, audience, Duration.ofSeconds(5), Clock.systemUTC());
    }

    /** Makes a verifier with a difference of clocks to allow for, of at most 60 s. */
    public ProofVerifier(String baseUrl, String issuer, String environment, String audience, Duration leeway, Clock clock) {
        if (issuer.isEmpty() || environment.isEmpty() || audience.isEmpty()) throw new IllegalArgumentException("issuer, environment and audience are required");
        this.issuer = issuer;
        this.environment = environment;
        this.audience = audience;
        this.leeway = leeway.isNegative() ? Duration.ZERO : leeway.compareTo(MOST_LEEWAY) > 0 ? MOST_LEEWAY : leeway;
        this.clock = clock;
        this.keys = new KeySet(baseUrl, issuer, clock);
    }

    /** Returns the audience of the proofs. */
    public String audience() {
        return audience;
    }

    /**
     * Returns the claims of a proof for what is expected. A refused proof is a CountersignException of kind INVALID with a reason code; any
     * other says that the keys could not be fetched: retry later.
     */
    public JsonNode verify(String proof, Expect expect) throws CountersignException {
        if (proof.length() > LONGEST || !FORM.matcher(proof).matches()) throw malformed("not a compact JWS");
        var parts = proof.split("\\.");
        byte[] header;
        byte[] payload;
        byte[] signature;
        try {
            header = Base64Url.decode(parts[0]);
            payload = Base64Url.decode(parts[1]);
            signature = Base64Url.decode(parts[2]);
        } catch (IllegalArgumentException e) {
            throw malformed("not canonical base64url");
        }
        if (signature.length != 64) throw malformed("the signature is not 64 bytes long");
        checkSignature(proof, signature, keys.find(kid(Json.parse(header))));
        var claims = shaped(Json.parse(payload));
        checkClaims(claims, expect);
        checkTimes(claims);
        return claims;
    }

    private static CountersignException malformed(String why) {
        return CountersignException.invalid("proof_malformed", why);
    }

    /** Returns the kid of a header that has exactly alg, kid and typ: others could change which bytes are signed, or supply a key. */
    private static String kid(@Nullable JsonNode header) throws CountersignException {
        if (header == null || !header.isObject()) throw malformed("the header is not a JSON object with each name once");
        if (!header.path("alg").asText().equals("ES256")) throw CountersignException.invalid("proof_algorithm_invalid", "alg is not ES256");
        for (var names = header.fieldNames(); names.hasNext(); ) {
            if (!HEADER.contains(names.next())) throw CountersignException.invalid("proof_header_invalid", "the header has an unexpected member");
        }
        if (!header.path("typ").asText().equals("poa+jwt")) throw CountersignException.invalid("proof_type_invalid", "typ is not poa+jwt");
        if (!header.path("kid").isTextual() || header.get("kid").asText().isEmpty()) throw CountersignException.invalid("proof_header_invalid", "the header has no kid");
        return header.get("kid").asText();
    }

    private static void checkSignature(String proof, byte[] signature, ECPublicKey key) throws CountersignException {
        try {
            var verifier = Signature.getInstance("SHA256withECDSAinP1363Format");
            verifier.initVerify(key);
            verifier.update(proof.substring(0, proof.lastIndexOf('.')).getBytes(StandardCharsets.US_ASCII));
            if (verifier.verify(signature)) return;
        } catch (GeneralSecurityException e) {
            // r or s out of range
        }
        throw CountersignException.invalid("proof_signature_invalid", "the signature does not verify");
    }

    private static JsonNode shaped(@Nullable JsonNode claims) throws CountersignException {
        boolean whole = claims != null && claims.isObject() && claims.path("amr").isArray();
        for (var name : new String[] {"iat", "nbf", "exp"}) whole = whole && claims.path(name).isIntegralNumber();
        for (var name : TEXTS) whole = whole && claims.at(name).isTextual() && !claims.at(name).asText().isEmpty();
        if (!whole || claims.get("exp").asLong() <= claims.get("nbf").asLong()) {
            throw CountersignException.invalid("proof_claims_invalid", "the claims do not have the shape of a proof");
        }
        return claims;
    }

    private void checkClaims(JsonNode c, Expect x) throws CountersignException {
        same(c, "/iss", issuer, "proof_issuer_mismatch");
        same(c, "/env", environment, "proof_environment_mismatch");
        same(c, "/aud", audience, "proof_audience_mismatch");
        same(c, "/act/key", x.action(), "proof_action_mismatch");
        if (x.subject() != null) same(c, "/sub", x.subject(), "proof_action_mismatch");
        if (x.nonce() != null) same(c, "/nonce", x.nonce(), "proof_nonce_mismatch");
        if (x.context() != null) same(c, "/ctx", Canonical.digest(x.context()), "proof_action_mismatch");
        if (x.resource() != null) {
            same(c, "/res/type", x.resource().type(), "proof_resource_mismatch");
            same(c, "/res/digest", Canonical.resourceDigest(x.resource()), "proof_resource_mismatch");
        }
    }

    private static void same(JsonNode claims, String name, String wanted, String code) throws CountersignException {
        if (!claims.at(name).asText().equals(wanted)) throw CountersignException.invalid(code, "claim " + name + " differs from the expected value");
    }

    private void checkTimes(JsonNode c) throws CountersignException {
        long now = clock.millis();
        if (now < c.get("nbf").asLong() * 1000 - leeway.toMillis()) throw CountersignException.invalid("proof_not_yet_valid", "not valid yet");
        if (now >= c.get("exp").asLong() * 1000 + leeway.toMillis()) throw CountersignException.invalid("proof_expired", "expired");
    }
}
