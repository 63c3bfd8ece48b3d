import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.SecureRandom;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.HexFormat;
import java.util.regex.Pattern;

/** Countersign from Java 17, with the JDK only: BASE=http://localhost:8080 KEY=sk_test_... java Payout.java SUBJECT ACTION */
public class Payout {
    static final String BASE = System.getenv("BASE"), KEY = System.getenv("KEY");
    static final HttpClient HTTP = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();

    /** The service refused or did not respond: do not perform the action. */
    static class NoDecision extends Exception {
        NoDecision(String why) { super(why); }
    }

    /** Sends a request, and repeats it with the same keys while the service is busy or unavailable. A null body is a GET. */
    static String call(String path, String body) throws NoDecision, InterruptedException {
        var request = HttpRequest.newBuilder(URI.create(BASE + path)).timeout(Duration.ofSeconds(10)).header("Authorization", "Bearer " + KEY)
            .header("Content-Type", "application/json").header("Accept", "application/problem+json").header("Idempotency-Key", random());
        if (body != null) request.POST(HttpRequest.BodyPublishers.ofString(body));
        for (long pause = 500; ; pause *= 2) {
            try {
                var response = HTTP.send(request.build(), BodyHandlers.ofString());
                if (response.statusCode() < 300) return response.body();
                if (response.statusCode() != 429 && response.statusCode() != 503 || pause > 2000) throw new NoDecision(response.body());
                pause = Math.max(pause, wait(response.headers().firstValue("Retry-After").orElse("")));
            } catch (java.io.IOException e) { // no connection, or no response in time
                if (pause > 2000) throw new NoDecision(e.toString());
            }
            Thread.sleep(pause);
        }
    }

    /** The milliseconds of a Retry-After header, which has two forms: seconds, or a date. */
    static long wait(String retryAfter) {
        long wait = 0;
        try {
            wait = 1000 * Math.min(Long.parseLong(retryAfter.trim()), 60);
        } catch (NumberFormatException seconds) {
            try {
                wait = Duration.between(Instant.now(), ZonedDateTime.parse(retryAfter, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant()).toMillis();
            } catch (DateTimeException date) {
                // neither: the service is asked again after the usual time
            }
        }
        return Math.max(0, Math.min(wait, 60_000));
    }

    static String random() {
        var bytes = new byte[16];
        new SecureRandom().nextBytes(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    /** The first text with this name. Use your JSON library instead, such as Jackson. */
    static String field(String json, String name) {
        var m = Pattern.compile('"' + name + "\":\\s*\"([^\"]*)\"").matcher(json);
        return m.find() ? m.group(1) : "";
    }

    public static void main(String[] args) throws Exception {
        String nonce = random(), account = "{\"type\": \"account\", \"id\": \"acc-1\"}";
        var decision = call("/api/v1/authorize", """
            {"subject": "%s", "action": "%s", "audience": "payments", "resource": %s, "context": {"amount": 120.5},
             "requested_at": %d, "nonce": "%s", "idempotency_key": "%s"}"""
            .formatted(args[0], args[1], account, System.currentTimeMillis() / 1000, nonce, random()));
        String proof = field(decision, "proof"), decided = field(decision, "id");
        if (field(decision, "decision").equals("challenge")) { // in live, redirect the user to the url of POST /api/v1/challenges/{id}/link
            var challenge = Pattern.compile("chl_\\w+").matcher(decision).results().findFirst().orElseThrow().group();
            var receipt = call("/api/v1/challenges/" + challenge + "/complete", "{\"method\": \"sandbox_confirm\"}");
            decided = field(receipt, "authorization");
            proof = field(call("/api/v1/authorizations/" + decided, null), "compact");
        }
        if (proof.isEmpty()) throw new NoDecision(decision); // hold: wait for the event hold.approved or hold.rejected
        var result = call("/api/v1/verify", """
            {"proof": "%s", "audience": "payments", "action": "%s", "nonce": "%s", "subject": "%s", "resource": %s, "context": {"amount": 120.5},
             "consume": true}""".formatted(proof, args[1], nonce, args[0], account));
        if (!result.contains("\"valid\":true")) throw new NoDecision(result);
        System.out.println("paid to acc-1");
        call("/api/v1/authorizations/" + decided + "/outcome", "{\"outcome\": \"executed\"}"); // limits and evaluations rest on it
    }
}
