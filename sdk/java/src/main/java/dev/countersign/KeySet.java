package dev.countersign;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.math.BigInteger;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.interfaces.ECPublicKey;
import java.security.spec.ECFieldFp;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.ECParameterSpec;
import java.security.spec.ECPoint;
import java.security.spec.ECPublicKeySpec;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/** The keys of one issuer, kept as their Cache-Control says and fetched again, once, for a key that is not known. */
final class KeySet {
    private static final Duration LEAST = Duration.ofSeconds(10);
    private static final Duration MOST = Duration.ofMinutes(10);
    private static final Duration BEYOND = Duration.ofHours(1); // after the last successful fetch: a key may have been removed since
    private static final Pattern MAX_AGE = Pattern.compile("(?:^|[\\s,])max-age=(\\d{1,9})");
    private static final ECParameterSpec P256 = p256();

    private final URI url;
    private final Clock clock;
    private final HttpClient http = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NEVER).connectTimeout(Duration.ofSeconds(5)).build();
    private Map<String, ECPublicKey> keys = Map.of();
    private Instant until = Instant.MIN;
    private Instant tried = Instant.MIN;
    private Instant loaded = Instant.MIN;
    private @Nullable CountersignException failed;

    KeySet(String baseUrl, String issuer, Clock clock) {
        this.url = URI.create(baseUrl.replaceAll("/+$", "") + "/.well-known/service-proof-keys.json?issuer=" + Countersign.escaped(issuer));
        this.clock = clock;
    }

    synchronized ECPublicKey find(String kid) throws CountersignException {
        var now = clock.instant();
        if (!now.isBefore(until) || (!keys.containsKey(kid) && !now.isBefore(tried.plus(LEAST)))) refresh(now);
        if (loaded.equals(Instant.MIN) || now.isAfter(loaded.plus(BEYOND))) keys = Map.of();
        var key = keys.get(kid);
        if (key != null) return key;
        if (failed != null) throw failed;
        throw CountersignException.invalid("proof_key_unknown", "no published key has the proof's kid");
    }

    private void refresh(Instant now) {
        tried = now;
        try {
            var response = fetch();
            var set = response.statusCode() == 200 ? Json.parse(response.body()) : null;
            if (set == null || !set.path("keys").isArray()) {
                throw new CountersignException(CountersignException.Kind.PROTOCOL, response.statusCode(), "", "", Duration.ZERO, "the response is not a key set");
            }
            keys = imported(set.get("keys"));
            var age = MAX_AGE.matcher(response.headers().firstValue("Cache-Control").orElse(""));
            var lifetime = age.find() ? Duration.ofSeconds(Long.parseLong(age.group(1))) : Duration.ofMinutes(5);
            until = now.plus(lifetime.compareTo(LEAST) < 0 ? LEAST : lifetime.compareTo(MOST) > 0 ? MOST : lifetime);
            loaded = now;
            failed = null;
        } catch (CountersignException e) {
            failed = e;
            until = now.plus(LEAST);
        }
    }

    private HttpResponse<byte[]> fetch() throws CountersignException {
        try {
            return http.send(HttpRequest.newBuilder(url).timeout(Duration.ofSeconds(5)).build(), HttpResponse.BodyHandlers.ofByteArray());
        } catch (IOException e) {
            throw CountersignException.unreachable("the key set could not be reached");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CountersignException.unreachable("the thread was interrupted");
        }
    }

    /** Returns the public P-256 keys for signatures. All others are passed over: one bad key must not end the good ones. */
    static Map<String, ECPublicKey> imported(JsonNode entries) {
        var out = new HashMap<String, ECPublicKey>();
        for (var k : entries) {
            var kid = k.path("kid").asText();
            if (!k.path("kty").asText().equals("EC") || !k.path("crv").asText().equals("P-256") || kid.isEmpty() || k.has("d")) continue;
            if (!k.path("alg").asText("ES256").equals("ES256") || !k.path("use").asText("sig").equals("sig")) continue;
            if (k.path("key_ops").isArray() && StreamSupport.stream(k.get("key_ops").spliterator(), false).noneMatch(o -> o.asText().equals("verify"))) continue;
            try {
                var x = Base64Url.decode(k.path("x").asText());
                var y = Base64Url.decode(k.path("y").asText());
                if (x.length != 32 || y.length != 32) continue;
                var point = new ECPoint(new BigInteger(1, x), new BigInteger(1, y));
                if (onCurve(point)) out.put(kid, (ECPublicKey) KeyFactory.getInstance("EC").generatePublic(new ECPublicKeySpec(point, P256)));
            } catch (GeneralSecurityException | IllegalArgumentException e) {
                continue;
            }
        }
        return out;
    }

    /** Checks y^2 = x^3 + ax + b: the JDK takes any point. */
    private static boolean onCurve(ECPoint w) {
        var p = ((ECFieldFp) P256.getCurve().getField()).getP();
        var x = w.getAffineX();
        var y = w.getAffineY();
        if (x.compareTo(p) >= 0 || y.compareTo(p) >= 0) return false;
        var right = x.modPow(BigInteger.valueOf(3), p).add(P256.getCurve().getA().multiply(x)).add(P256.getCurve().getB()).mod(p);
        return y.modPow(BigInteger.TWO, p).equals(right);
    }

    private static ECParameterSpec p256() {
        try {
            var parameters = AlgorithmParameters.getInstance("EC");
            parameters.init(new ECGenParameterSpec("secp256r1"));
            return parameters.getParameterSpec(ECParameterSpec.class);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e); // every JDK has it
        }
    }
}
