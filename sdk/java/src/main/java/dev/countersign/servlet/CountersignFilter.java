package dev.countersign.servlet;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.countersign.Ask;
import dev.countersign.CountersignException;
import dev.countersign.Decision;
import dev.countersign.Gate;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;

/**
 * Lets a request through only on a consumed proof. It keeps nothing in the session, so that a user may have any number of pending decisions: the
 * page repeats a request that got 401 with the proof in Countersign-Proof. A challenge is 401 (RFC 9470), a hold, a denial and a refused proof
 * are 403, no decision is 503. The outcome is the request's attribute {@link #OUTCOME}.
 */
public final class CountersignFilter extends HttpFilter {
    private static final long serialVersionUID = 1L;

    /** The name of the attribute with the {@link Gate.Outcome.Allowed}. */
    public static final String OUTCOME = "dev.countersign.outcome";

    private static final ObjectMapper JSON = new ObjectMapper();

    private final transient Gate gate;
    private final transient Description description;

    /** Returns what a request is about to do. An IllegalArgumentException is the request's fault: 400 with its text. If it reads the body, wrap the request before. */
    @FunctionalInterface
    public interface Description {
        /** Describes a request. */
        Ask of(HttpServletRequest request) throws IOException;
    }

    /** Makes a filter. */
    public CountersignFilter(Gate gate, Description description) {
        this.gate = gate;
        this.description = description;
    }

    @Override
    protected void doFilter(HttpServletRequest request, HttpServletResponse response, FilterChain chain) throws IOException, ServletException {
        Gate.Outcome outcome;
        try {
            outcome = gate.check(description.of(request), request.getHeader(Gate.PROOF_HEADER));
        } catch (IllegalArgumentException e) {
            refuse(response, e);
            return;
        } catch (CountersignException e) {
            getServletContext().log("a request was not authorized: " + e.getMessage());
            refuse(response, e);
            return;
        }
        if (outcome instanceof Gate.Outcome.Allowed allowed) {
            request.setAttribute(OUTCOME, allowed);
            chain.doFilter(request, response);
            return;
        }
        refuse(response, outcome);
    }

    /** Responds to a request that may not go on. */
    public static void refuse(HttpServletResponse response, Gate.Outcome outcome) throws IOException {
        if (outcome instanceof Gate.Outcome.Decided decided) {
            decided(response, decided.decision());
        } else if (outcome instanceof Gate.Outcome.Refused refused) {
            respond(response, 403, Map.of("decision", "refused", "message", "The confirmation cannot be used for this: " + refused.code() + "."));
        } else if (outcome instanceof Gate.Outcome.Undecided undecided) {
            response.setHeader("Retry-After", Long.toString(Math.max(2, undecided.error().retryAfter().toSeconds() + 1)));
            respond(response, 503, Map.of("decision", "unavailable", "message", "Please try again in a moment."));
        } else {
            throw new IllegalArgumentException("the request was allowed");
        }
    }

    /** Responds to a request that the service refused to decide: 422 for its content, 500 for everything else. */
    public static void refuse(HttpServletResponse response, CountersignException refusal) throws IOException {
        respond(response, refusal.status() == 422 ? 422 : 500, Map.of("decision", "refused", "message", "The request could not be authorized."));
    }

    /** Responds with 400 to a request that says nothing that could be decided, such as an amount that is not a number. */
    public static void refuse(HttpServletResponse response, IllegalArgumentException fault) throws IOException {
        respond(response, 400, Map.of("decision", "refused", "message", String.valueOf(fault.getMessage())));
    }

    private static void decided(HttpServletResponse response, Decision decision) throws IOException {
        var told = decision.response();
        if (decision instanceof Decision.Unproven || decision.mode().equals("shadow")) {
            respond(response, 403, Map.of("decision", "refused", "message", "The action is not enforced, so that there is no proof for it."));
            return;
        }
        var body = new TreeMap<String, Object>(Map.of("decision", told.get("decision"), "authorization", decision.id(), "message", told.get("human_readable").get("detail")));
        if (decision instanceof Decision.Challenged) {
            body.put("challenge", told.get("challenge"));
            response.setHeader("WWW-Authenticate", "Countersign error=\"challenge_required\"");
        }
        respond(response, decision instanceof Decision.Challenged ? 401 : 403, body);
    }

    private static void respond(HttpServletResponse response, int status, Map<String, ?> body) throws IOException {
        response.setStatus(status);
        response.setContentType("application/json");
        response.setHeader("Cache-Control", "no-store");
        response.getOutputStream().write(JSON.writeValueAsBytes(body));
    }
}
