package dev.countersign;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A client of the service. It is safe for concurrent use.
 *
 * <p>A call is attempted up to three times, and again only if that does no more than sending it once: a refusal by a quota (429) or while the
 * service is unavailable (503) changed nothing, and what has an idempotency key is carried out once. Redirects are not followed.
 */
public final class Countersign {
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);
    private static final Pattern CODE = Pattern.compile("[a-z][a-z0-9_]*");
    private static final int RETRIES = 2;
    private static final int LARGEST_PROBLEM = 1 << 20; // bytes

    private final String baseUrl;
    private final String apiKey;
    private final int retries;
    private final Duration timeout;
    private final HttpClient http;

    /** Makes a client with three attempts of up to ten seconds each. */
    public Countersign(String baseUrl, String apiKey) {
        this(baseUrl, apiKey, RETRIES, Duration.ofSeconds(10));
    }

    /** Makes a client. retries is the number of further attempts; timeout is for one attempt. */
    public Countersign(String baseUrl, String apiKey, int retries, Duration timeout) {
        if (!baseUrl.startsWith("https://") && !baseUrl.startsWith("http://")) throw new IllegalArgumentException("baseUrl must begin with https:// or http://");
        if (apiKey.isBlank()) throw new IllegalArgumentException("apiKey is empty");
        this.baseUrl = baseUrl.replaceAll("/+$", "");
        this.apiKey = apiKey;
        this.retries = retries;
        this.timeout = timeout;
        this.http = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NEVER).connectTimeout(timeout).build();
    }

    /** Leaves out the key. */
    @Override
    public String toString() {
        return "Countersign[" + baseUrl + "]";
    }

    /** Requests a decision. */
    public Decision authorize(AuthorizeRequest request) throws CountersignException {
        return Decision.of(call("authorize", Map.of(), request));
    }

    /** Returns an authorization, with its proof while that is active. */
    public JsonNode authorization(String id) throws CountersignException {
        var told = call("getAuthorization", Map.of("authorization_id", id), null);
        if (!told.path("id").asText().equals(id)) throw garbled("getAuthorization", 200, "", Duration.ZERO, "id is not the one of the request");
        return told;
    }

    /** Makes a subject, a user about whom decisions can be made, with your own id of it. It is a refusal (409) if there is one. */
    public JsonNode createSubject(String id) throws CountersignException {
        return call("createSubject", Map.of(), Map.of("id", id));
    }

    /** Returns a short-lived URL of the hosted page on which the user completes a challenge. */
    public URI challengeLink(String challenge) throws CountersignException {
        return link(challenge, Map.of());
    }

    /** Returns such a URL whose page ends with a way back to yours, which is at one of the environment's return_origins. */
    public URI challengeLink(String challenge, URI returnTo) throws CountersignException {
        return link(challenge, Map.of("return_url", returnTo.toString()));
    }

    private URI link(String challenge, Map<String, String> request) throws CountersignException {
        return URI.create(call("createChallengeLink", Map.of("challenge_id", challenge), request).get("url").asText());
    }

    /** Completes a challenge and returns the receipt, whose authorization is the follow-up decision. */
    public JsonNode completeChallenge(String challenge, Object completion) throws CountersignException {
        return call("completeChallenge", Map.of("challenge_id", challenge), completion);
    }

    /** Consumes a proof, for an audience and an action: of any number of callers one receives true in valid. */
    public JsonNode consume(String proof, String audience, String action) throws CountersignException {
        return call("verifyProof", Map.of(), Map.of("proof", proof, "audience", audience, "action", action, "consume", true));
    }

    /** Returns the calling credential, with proof_issuer and environment for a {@link ProofVerifier}. */
    public JsonNode credential() throws CountersignException {
        return call("getCredential", Map.of(), null);
    }

    /**
     * Follows the environment's events from the next one on, or from the one after lastEventId. It connects again by itself. filter may have
     * type, which may be a family such as hold.*, subject and action. Store the id of each event with what you did on it: it is where to resume.
     */
    public EventStream events(Map<String, String> filter, @Nullable String lastEventId) {
        return new EventStream(this, filter, lastEventId, EventStream.FIRST_PAUSE);
    }

    /** Opens the stream of events after the one with an id. */
    InputStream open(Map<String, String> filter, @Nullable String last) throws CountersignException {
        var query = new StringJoiner("&", "?", "");
        filter.forEach((name, value) -> query.add(escaped(name) + "=" + escaped(value)));
        var builder = HttpRequest.newBuilder(URI.create(baseUrl + "/api/v1/events/stream" + query)).timeout(timeout).header("Authorization", "Bearer " + apiKey)
            .header("Accept", "text/event-stream");
        if (last != null && !last.isEmpty()) builder.header("Last-Event-ID", last);
        try {
            var response = http.send(builder.build(), HttpResponse.BodyHandlers.ofInputStream());
            if (response.statusCode() == 200 && mediaType(response).equals("text/event-stream")) return response.body();
            try (var body = response.body()) {
                var id = response.headers().firstValue("X-Request-Id").orElse("");
                var wait = retryAfter(response.headers().firstValue("Retry-After").orElse(""));
                if (response.statusCode() >= 400) throw refusal("streamEvents", response, body.readNBytes(LARGEST_PROBLEM), id, wait);
                throw garbled("streamEvents", response.statusCode(), id, wait, "the response is not a stream of events");
            }
        } catch (IOException e) {
            var failed = CountersignException.unreachable("streamEvents: no response was received (" + e.getClass().getSimpleName() + ")");
            failed.initCause(e);
            throw failed;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CountersignException.unreachable("streamEvents: the thread was interrupted");
        }
    }

    /**
     * Carries out any operation of the contract, by its operationId, and returns its response, which is checked against the contract. The
     * parameters are those of the path and the query. A null body is none; the response is a missing node if the operation has none. What the
     * contract does not have is an IllegalArgumentException, and nothing is sent.
     */
    public JsonNode call(String operation, Map<String, ?> parameters, @Nullable Object body) throws CountersignException {
        var target = Contract.target(operation);
        var content = body == null ? null : Json.bytes(body);
        var builder = HttpRequest.newBuilder(URI.create(baseUrl + target.locate(parameters))).timeout(timeout).header("Authorization", "Bearer " + apiKey)
            .header("Accept", "application/json");
        if (target.keyed()) builder.header("Idempotency-Key", AuthorizeRequest.fresh());
        if (content != null) builder.header("Content-Type", "application/json");
        builder.method(target.method(), content == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofByteArray(content));
        boolean repeatable = target.keyed() || target.method().equals("GET") || operation.equals("authorize"); // whose body has its key
        var asked = content == null ? null : Json.parse(content);
        CountersignException limited = null;
        for (int attempt = 1; ; attempt++) {
            CountersignException failed;
            try {
                return understand(operation, asked, http.send(builder.build(), HttpResponse.BodyHandlers.ofByteArray()));
            } catch (IOException e) {
                failed = CountersignException.unreachable(operation + ": no response was received (" + e.getClass().getSimpleName() + ")");
                failed.initCause(e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw CountersignException.unreachable(operation + ": the thread was interrupted");
            } catch (CountersignException e) {
                failed = e;
            }
            if (failed.rateLimited()) limited = failed;
            else if (limited != null && failed.kind() == CountersignException.Kind.UNREACHABLE) failed = limited; // the wait must not hide the limit
            if (attempt > retries || !again(failed, repeatable)) throw failed;
            pause(failed.retryAfter(), attempt);
        }
    }

    private static boolean again(CountersignException e, boolean repeatable) {
        if (e.retryAfter().compareTo(LONGEST_PAUSE) > 0) return false;
        if (e.status() == 429 || e.kind() == CountersignException.Kind.REFUSED && e.status() == 503) return true; // nothing was changed
        if (e.kind() == CountersignException.Kind.REFUSED) return repeatable && (e.status() == 502 || e.status() == 504);
        return repeatable && (e.status() < 300 || e.status() >= 500);
    }

    private static void pause(Duration atLeast, int attempt) throws CountersignException {
        long jitter = ThreadLocalRandom.current().nextLong(100L << Math.min(attempt, 5));
        try {
            Thread.sleep(Math.max(jitter, atLeast.toMillis()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CountersignException.unreachable("the thread was interrupted");
        }
    }

    private static JsonNode understand(String operation, @Nullable JsonNode asked, HttpResponse<byte[]> response) throws CountersignException {
        int status = response.statusCode();
        var id = response.headers().firstValue("X-Request-Id").orElse("");
        var wait = retryAfter(response.headers().firstValue("Retry-After").orElse(""));
        if (status >= 300 && status < 400) throw garbled(operation, status, id, wait, "the response is a redirect, which is never followed");
        if (status >= 400) throw refusal(operation, response, response.body(), id, wait);
        var rule = Contract.rule(operation, status);
        if (rule.isMissingNode()) throw garbled(operation, status, id, wait, "the contract has no response with this status");
        if (rule.isNull()) {
            if (response.body().length > 0) throw garbled(operation, status, id, wait, "a body where the contract has none");
            return com.fasterxml.jackson.databind.node.MissingNode.getInstance();
        }
        if (!mediaType(response).equals("application/json")) throw garbled(operation, status, id, wait, "the content type is not application/json");
        var told = Json.parse(response.body());
        if (told == null) throw garbled(operation, status, id, wait, "the body is not JSON");
        var wrong = Contract.breach(rule, told, "the response");
        if (wrong == null) wrong = Contract.contradiction(operation, asked, told);
        if (wrong != null) throw garbled(operation, status, id, wait, wrong);
        return told;
    }

    /** Reads a problem (RFC 9457) or the faults of a 422; anything else is a refusal by something in between. */
    private static CountersignException refusal(String operation, HttpResponse<?> response, byte[] text, String id, Duration wait) {
        int status = response.statusCode();
        var body = mediaType(response).matches("application/(problem\\+)?json") ? Json.parse(text) : null;
        if (body != null && status == 422 && body.path("detail").path(0).path("msg").isTextual()) {
            return new CountersignException(CountersignException.Kind.REFUSED, status, "validation_error", id, wait, body.get("detail").get(0).get("msg").asText());
        }
        if (body != null && CODE.matcher(body.path("code").asText()).matches() && body.path("status").asInt(status) == status) {
            var code = body.get("code").asText();
            return new CountersignException(CountersignException.Kind.REFUSED, status, code, id, wait, code + ": " + body.path("detail").asText());
        }
        return garbled(operation, status, id, wait, "a refusal that the service does not give");
    }

    private static CountersignException garbled(String operation, int status, String id, Duration wait, String what) {
        return new CountersignException(CountersignException.Kind.PROTOCOL, status, "", id, wait, operation + ": status " + status + ": " + what);
    }

    private static String mediaType(HttpResponse<?> response) {
        return response.headers().firstValue("Content-Type").orElse("").split(";", 2)[0].strip().toLowerCase(java.util.Locale.ROOT);
    }

    /** Reads seconds, the form the service uses, or an HTTP date, the form a proxy may use; zero for anything else. */
    static Duration retryAfter(String value) {
        if (value.matches("[0-9]{1,9}")) return Duration.ofSeconds(Long.parseLong(value));
        if (value.matches("[0-9]+")) return Duration.ofSeconds(999_999_999); // a longer time than anyone waits
        try {
            var wait = Duration.between(Instant.now(), ZonedDateTime.parse(value, DateTimeFormatter.RFC_1123_DATE_TIME));
            return wait.isNegative() ? Duration.ZERO : wait;
        } catch (DateTimeException e) {
            return Duration.ZERO;
        }
    }

    static String escaped(String segment) {
        return URLEncoder.encode(segment, StandardCharsets.UTF_8).replace("+", "%20");
    }
}
