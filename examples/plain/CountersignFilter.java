import java.io.IOException;
import java.util.regex.Pattern;
import javax.servlet.FilterChain;
import javax.servlet.ServletException;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.springframework.web.filter.OncePerRequestFilter;

/**
 * A filter for Spring 4 and 5 that asks Countersign before a controller runs; for Spring 6 the imports say jakarta.servlet.
 * The page repeats a request that got 409 once the user has confirmed it, or a reviewer has approved it.
 */
public class CountersignFilter extends OncePerRequestFilter {
    /** Returns what a request is about to do, as the JSON members subject, resource and context: from the session and the body, never from what only the page claims about its user. */
    public interface Description { String of(HttpServletRequest request); }

    private final String action, audience;
    private final Description description;

    public CountersignFilter(String action, String audience, Description description) {
        this.action = action;
        this.audience = audience;
        this.description = description;
    }

    /** A decision that waits for a confirmation or a review; the user's session keeps it. */
    private record Waiting(String ask, String nonce, String id) implements java.io.Serializable {}

    @Override
    protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain) throws ServletException, IOException {
        var ask = "\"action\": \"%s\", \"audience\": \"%s\", %s".formatted(action, audience, description.of(request));
        try {
            if (!allowed(request, response, ask)) return;
            chain.doFilter(request, response);
            report((String) request.getAttribute("countersign"), response.getStatus() < 400 ? "executed" : "not_executed");
        } catch (Payout.NoDecision e) {
            answer(response, 503, "unavailable", "");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            answer(response, 503, "unavailable", "");
        }
    }

    /** True if the request may go on: a proof of exactly this request is verified and used up. Otherwise it has responded. */
    private boolean allowed(HttpServletRequest request, HttpServletResponse response, String ask) throws IOException, Payout.NoDecision, InterruptedException {
        var session = request.getSession();
        var waiting = (Waiting) session.getAttribute("countersign");
        session.removeAttribute("countersign");
        String decision, proof;
        if (waiting != null && waiting.ask.equals(ask)) {
            decision = Payout.call("/api/v1/authorizations/" + waiting.id, null);
            var child = Payout.field(decision, "child_authorization"); // confirmed by the user, or approved by a reviewer
            if (!child.isEmpty()) decision = Payout.call("/api/v1/authorizations/" + child, null);
            proof = Payout.field(decision, "compact");
        } else {
            var nonce = Payout.random();
            decision = Payout.call("/api/v1/authorize", "{%s, \"requested_at\": %d, \"nonce\": \"%s\", \"idempotency_key\": \"%s\"}"
                .formatted(ask, System.currentTimeMillis() / 1000, nonce, Payout.random()));
            waiting = new Waiting(ask, nonce, Payout.field(decision, "id"));
            proof = Payout.field(decision, "proof");
        }
        if (Payout.field(decision, "mode").equals("shadow")) return true;
        if (!proof.isEmpty()) {
            var result = Payout.call("/api/v1/verify", "{\"proof\": \"%s\", %s, \"nonce\": \"%s\", \"consume\": true}".formatted(proof, ask, waiting.nonce));
            if (result.contains("\"valid\":true")) {
                request.setAttribute("countersign", Payout.field(decision, "id"));
                return true;
            }
            return answer(response, 403, "deny", "");
        }
        var outcome = Payout.field(decision, "decision");
        var over = Pattern.matches("rejected|expired", Payout.field(decision, "review_status"));
        if (outcome.equals("challenge")) {
            var challenge = Pattern.compile("chl_\\w+").matcher(decision).results().findFirst().orElseThrow().group();
            var link = Payout.field(Payout.call("/api/v1/challenges/" + challenge + "/link", "{}"), "url");
            session.setAttribute("countersign", waiting);
            return answer(response, 409, outcome, ", \"challenge\": \"%s\", \"url\": \"%s\"".formatted(challenge, link));
        }
        if (outcome.equals("hold") && !over) session.setAttribute("countersign", waiting);
        return answer(response, outcome.equals("hold") && !over ? 409 : 403, outcome, ", \"authorization\": \"%s\"".formatted(waiting.id));
    }

    /** Limits and evaluations rest on what became of a decision. The response is the controller's, whatever becomes of the report. */
    private static void report(String decision, String outcome) throws InterruptedException {
        if (decision == null) return; // in shadow mode nothing was asked of the user
        try {
            Payout.call("/api/v1/authorizations/" + decision + "/outcome", "{\"outcome\": \"%s\"}".formatted(outcome));
        } catch (Payout.NoDecision ignored) {
        }
    }

    private static boolean answer(HttpServletResponse response, int status, String decision, String more) throws IOException {
        response.setStatus(status);
        response.setContentType("application/json");
        response.getWriter().printf("{\"decision\": \"%s\"%s}", decision, more);
        return false;
    }
}
