package dev.countersign.spring;

import dev.countersign.Ask;
import dev.countersign.Countersign;
import dev.countersign.CountersignException;
import dev.countersign.Gate;
import dev.countersign.ProofVerifier;
import dev.countersign.servlet.CountersignFilter;
import jakarta.servlet.http.HttpServletRequest;
import java.util.function.BiFunction;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.security.authentication.AuthenticationTrustResolver;
import org.springframework.security.authentication.AuthenticationTrustResolverImpl;
import org.springframework.security.authorization.AuthorizationDecision;
import org.springframework.security.authorization.AuthorizationManager;
import org.springframework.security.authorization.AuthorizationResult;
import org.springframework.security.core.Authentication;
import org.springframework.security.web.access.intercept.RequestAuthorizationContext;

/** The gates of an application. No gate asks the service for a user who is not signed in: such a user is sent to sign in. */
public final class CountersignGates {
    private static final Log LOG = LogFactory.getLog(CountersignGates.class);
    private static final AuthenticationTrustResolver TRUST = new AuthenticationTrustResolverImpl();
    private static final String PASSED = CountersignFilter.OUTCOME + ".passed.";

    private final CountersignProperties properties;
    private final Countersign client;
    private volatile @Nullable ProofVerifier verifier;

    /** Makes the gates of an application. */
    public CountersignGates(CountersignProperties properties, Countersign client) {
        this.properties = properties;
        this.client = client;
    }

    /** Returns a gate with the failure mode of the properties. An exception says that the credential could not be read from the service. */
    public Gate gate(String action) throws CountersignException {
        return new Gate(client, verifier(), action).withFailure(properties.failure());
    }

    /**
     * Returns what a route requires: an allow for what the request is about to do. It does not read the body, unless describe does. An
     * IllegalArgumentException of describe is the request's fault: 400 with its text.
     */
    public AuthorizationManager<RequestAuthorizationContext> require(String action, BiFunction<Authentication, HttpServletRequest, Ask> describe) {
        return (user, context) -> check(action, user.get(), context.getRequest(), describe, false);
    }

    /** Returns what a route requires once the action is in mode enforce: an allow with its proof. */
    public AuthorizationManager<RequestAuthorizationContext> requireProof(String action, BiFunction<Authentication, HttpServletRequest, Ask> describe) {
        return (user, context) -> check(action, user.get(), context.getRequest(), describe, true);
    }

    private AuthorizationResult check(
        String action, @Nullable Authentication user, HttpServletRequest request, BiFunction<Authentication, HttpServletRequest, Ask> describe, boolean proofRequired) {
        if (user == null || !TRUST.isAuthenticated(user)) return new AuthorizationDecision(false);
        Ask ask;
        try {
            ask = describe.apply(user, request);
        } catch (IllegalArgumentException e) {
            return new CountersignResult(null, null, e);
        }
        // A request is authorized again when it is dispatched again, such as after an asynchronous result. Its proof is used up by then.
        if (request.getAttribute(PASSED + action) instanceof Passed passed && passed.ask().equals(ask)) return passed.result();
        var result = check(action, ask, request, proofRequired);
        if (result.isGranted()) request.setAttribute(PASSED + action, new Passed(ask, result));
        return result;
    }

    private record Passed(Ask ask, CountersignResult result) {}

    /** Asks for a decision, or redeems the proof that the request brought. */
    CountersignResult check(String action, Ask ask, @Nullable HttpServletRequest request, boolean proofRequired) {
        try {
            var gate = gate(action);
            var outcome = (proofRequired ? gate.requireProof() : gate).check(ask, request == null ? null : request.getHeader(Gate.PROOF_HEADER));
            if (request != null && outcome instanceof Gate.Outcome.Allowed) request.setAttribute(CountersignFilter.OUTCOME, outcome);
            return CountersignResult.of(outcome);
        } catch (CountersignException e) {
            LOG.warn("a request was not authorized: " + e.getMessage());
            return e.unavailable() || e.rateLimited() ? CountersignResult.of(new Gate.Outcome.Undecided(e)) : CountersignResult.of(e);
        }
    }

    private ProofVerifier verifier() throws CountersignException {
        var made = verifier;
        if (made != null) return made;
        var issuer = properties.issuer();
        var environment = properties.environment();
        if (issuer == null || environment == null) {
            var me = client.credential();
            issuer = me.get("proof_issuer").asText();
            environment = me.get("environment").asText();
        }
        made = new ProofVerifier(properties.url(), issuer, environment, properties.audience());
        verifier = made;
        return made;
    }
}
