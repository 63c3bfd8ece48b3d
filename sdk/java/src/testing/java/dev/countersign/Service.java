package dev.countersign;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.security.interfaces.ECPublicKey;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/** A service that decides as told and signs the proofs of its allows. */
public final class Service implements AutoCloseable {
    /** The issuer of the proofs, and their audience. */
    public static final String ISSUER = "https://countersign.example", AUDIENCE = "bank.example";
    /** The key of the service, and one that nothing trusts. */
    public static final KeyPair KEY = key(), FORGER = key();
    private static final String AT = "2026-11-21T09:30:00.000Z", DIGEST = "sha256:" + "0".repeat(64);
    private static final ObjectMapper JSON = new ObjectMapper();

    public String decision = "allow";
    public String mode = "enforce";
    public int status = 200;
    /** Whether something in between responds with a page. */
    public boolean garbled;
    public KeyPair key = KEY;
    public Consumer<ObjectNode> alter = claims -> {};
    /** The requests for a decision. */
    public final List<JsonNode> asked = new ArrayList<>();
    /** The subjects that were made. */
    public final List<String> subjects = new ArrayList<>();
    /** Whether the user confirmed azn_1. */
    public boolean confirmed;
    public final Set<String> consumed = new HashSet<>();
    private ObjectNode claims = JSON.createObjectNode();
    private final Server server;

    /** Starts the service. */
    public Service() throws IOException {
        server = new Server(this::reply);
    }

    /** Forgets what it was asked and was to do. */
    public void reset() {
        decision = "allow";
        mode = "enforce";
        status = 200;
        garbled = false;
        confirmed = false;
        key = KEY;
        alter = claims -> {};
        asked.clear();
        consumed.clear();
    }

    @Override
    public void close() throws IOException {
        server.close();
    }

    /** Returns the service's base URL. */
    public String url() {
        return server.url();
    }

    /** Returns a gate for payments.transfer. */
    public Gate gate() {
        return new Gate(new Countersign(server.url(), "sk_test_x", 0, Duration.ofSeconds(10)), new ProofVerifier(server.url(), ISSUER, "env_1", AUDIENCE), "payments.transfer");
    }

    private static KeyPair key() {
        try {
            var generator = KeyPairGenerator.getInstance("EC");
            generator.initialize(new ECGenParameterSpec("secp256r1"));
            return generator.generateKeyPair();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String b64(byte[] raw) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(raw);
    }

    private static String coordinate(BigInteger n) {
        var hex = String.format("%064x", n);
        return b64(java.util.HexFormat.of().parseHex(hex));
    }

    private Server.Reply reply(JsonNode body) {
        if (garbled) return new Server.Reply(200, List.of(Map.entry("Content-Type", "text/html")), "<p>Sign in</p>".getBytes(StandardCharsets.UTF_8), 0, false);
        if (status != 200) return Server.Reply.json(status, "{\"code\":\"some_code\"}");
        var path = body.get("path").asText();
        if (path.startsWith("/.well-known")) {
            if (!path.endsWith("?issuer=https%3A%2F%2Fcountersign.example")) return Server.Reply.json(404, "{\"code\":\"not_found\"}");
            var point = ((ECPublicKey) KEY.getPublic()).getW();
            return Server.Reply.json(200, "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"k1\",\"x\":\"%s\",\"y\":\"%s\"}]}"
                .formatted(coordinate(point.getAffineX()), coordinate(point.getAffineY())));
        }
        if (path.endsWith("credential")) {
            return Server.Reply.json(200, """
                {"credential":"key_1","tenant":"ten_1","environment":"env_1","proof_issuer":"%s","environment_kind":"sandbox","scope":"server","mode":"test"}""".formatted(ISSUER));
        }
        if (path.endsWith("/subjects")) return subject(body);
        if (path.endsWith("/outcome")) return Server.Reply.json(200, "{\"authorization\":\"azn_1\",\"outcome\":%s,\"reported_at\":\"%s\"}".formatted(body.get("outcome"), AT));
        if (path.endsWith("/link")) return Server.Reply.json(201, "{\"url\":\"%s/challenge/chl_1#%s\",\"expires_at\":\"%s\"}".formatted(ISSUER, body.path("return_url").asText(), AT));
        if (path.contains("/authorizations/")) return trace(path.substring(path.lastIndexOf('/') + 1));
        if (!path.endsWith("authorize")) return verify(body);
        asked.add(body);
        return authorize(body);
    }

    private Server.Reply subject(JsonNode body) {
        subjects.add(body.get("id").asText());
        return Server.Reply.json(201, """
            {"id":%s,"environment":"env_1","status":"active","enrollment":"none","adaptation_frozen":false,"research_consent":false,"passkeys":[],"created_at":"%s",
             "updated_at":"%s","revoked_at":null}""".formatted(body.get("id"), AT, AT));
    }

    /** A challenge of user-1, azn_1, which was confirmed if there is a follow-up decision, azn_2. */
    private Server.Reply trace(String id) {
        return Server.Reply.json(200, """
            {"id":"%s","action":"payments.transfer","subject":"user-1","actor":"user-1","actor_type":"human","resource_type":"account","resource_digest":"%s","context_digest":"%s",
             "action_hash":"%s","audience":"payments","requested_at":"%s","decided_at":"%s","mode":"enforce","decision":"%s","reason_codes":[],"latency_ms":1,"assurance":%s,
             "challenge":%s,"child_authorization":%s,"proof":%s}""".formatted(id, DIGEST, DIGEST, DIGEST, AT, AT, id.equals("azn_1") ? "challenge" : "allow", assurance("\"user-1\""),
            id.equals("azn_1") ? "{\"id\":\"chl_1\",\"status\":\"pending\",\"expires_at\":\"" + AT + "\"}" : "null", id.equals("azn_1") && confirmed ? "\"azn_2\"" : "null",
            id.equals("azn_2") ? "{\"id\":\"prf_1\",\"status\":\"active\",\"compact\":\"a.b.c\"}" : "null"));
    }

    private static String assurance(String subject) {
        return """
            {"id":"prl_1","subject":%s,"assessed_at":"%s","model_version":"m","rule_version":"r","feature_schema_version":"f","claims":[],"coverage":"none",
             "insufficient_evidence":true}""".formatted(subject, AT);
    }

    private Server.Reply authorize(JsonNode ask) {
        boolean proven = decision.equals("allow") && mode.equals("enforce");
        boolean stepUp = decision.equals("challenge") && !mode.equals("shadow");
        return Server.Reply.json(200, """
            {"id":"azn_1","decision":"%s","mode":"%s","action":%s,"action_hash":"%s","environment":"env_1","policy_version":1,"reason_codes":[],
             "human_readable":{"status":"s","detail":"Please confirm."},"trace_id":"t","decided_at":"%s","latency_ms":1,"proof":%s,"proof_id":%s,"challenge":%s,
             "assurance":%s}""".formatted(decision, mode, ask.get("action"), DIGEST, AT,
            proven ? "\"" + sign(ask) + "\"" : "null", proven ? "\"prf_1\"" : "null",
            stepUp ? "{\"id\":\"chl_1\",\"methods\":[\"passkey\"],\"expires_at\":\"" + AT + "\"}" : "null", assurance(ask.get("subject").toString())));
    }

    private String sign(JsonNode ask) {
        long now = System.currentTimeMillis() / 1000;
        claims = JSON.createObjectNode().put("iss", ISSUER).put("sub", ask.get("subject").asText()).put("aud", ask.get("audience").asText()).put("iat", now).put("nbf", now)
            .put("exp", now + 300).put("jti", "prf_1").put("nonce", ask.get("nonce").asText()).put("env", "env_1").put("env_kind", "sandbox").put("mode", "enforce").put("azn", "azn_1")
            .put("ctx", Canonical.digest(ask.get("context")));
        claims.putObject("act").put("key", ask.get("action").asText()).put("hash", "sha256:0").put("policy_version", 1).put("content_hash", "sha256:c");
        claims.putObject("res").put("type", "account").put("digest", Canonical.digest(ask.get("resource")));
        claims.putArray("amr");
        alter.accept(claims);
        var text = b64("{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"poa+jwt\"}".getBytes(StandardCharsets.UTF_8)) + "." + b64(claims.toString().getBytes(StandardCharsets.UTF_8));
        try {
            var signature = Signature.getInstance("SHA256withECDSAinP1363Format");
            signature.initSign(key.getPrivate());
            signature.update(text.getBytes(StandardCharsets.US_ASCII));
            return text + "." + b64(signature.sign());
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private Server.Reply verify(JsonNode ask) {
        boolean first = consumed.add(ask.get("proof").asText());
        return Server.Reply.json(200, "{\"valid\":%s,\"status\":\"consumed\",\"reason_codes\":[%s],\"claims\":%s}".formatted(first, first ? "" : "\"proof_consumed\"", claims));
    }
}
