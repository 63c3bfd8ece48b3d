package dev.countersign;

import com.fasterxml.jackson.databind.JsonNode;
import org.jspecify.annotations.Nullable;

/**
 * Guards one action: what it guards runs only on a proof for exactly its request, which the gate verifies and consumes. If the action's mode is
 * shadow or test there are no proofs: {@link #requireProof} refuses what comes without one, whatever the response says.
 */
public final class Gate {
    /** What happens while the service is unavailable. A refusal by a quota (429) never goes through. */
    public enum Failure { CLOSED, OPEN }

    /** The request header in which a page sends the proof that it received after a step-up. */
    public static final String PROOF_HEADER = "Countersign-Proof";

    /** The result of a check. */
    public sealed interface Outcome {
        /** The request may go on, once. claims are those of the consumed proof; null in modes shadow and test, and if the gate fails open. */
        record Allowed(@Nullable JsonNode claims) implements Outcome {}

        /** The decision does not let the request through. */
        record Decided(Decision decision) implements Outcome {}

        /** The proof is refused; code is a reason code of kind proof. */
        record Refused(String code) implements Outcome {}

        /** There is no decision. */
        record Undecided(CountersignException error) implements Outcome {}
    }

    private final Countersign client;
    private final ProofVerifier verifier;
    private final String action;
    private final Failure failure;
    private final boolean proofRequired;

    /** Makes a gate that fails closed. The verifier's audience is the audience of the decisions. */
    public Gate(Countersign client, ProofVerifier verifier, String action) {
        this(client, verifier, action, Failure.CLOSED, false);
    }

    private Gate(Countersign client, ProofVerifier verifier, String action, Failure failure, boolean proofRequired) {
        this.client = client;
        this.verifier = verifier;
        this.action = action;
        this.failure = failure;
        this.proofRequired = proofRequired;
    }

    /** Returns the gate with a failure mode. */
    public Gate withFailure(Failure mode) {
        return new Gate(client, verifier, action, mode, proofRequired);
    }

    /** Returns the gate that lets nothing through without a proof. Use it once the action is in mode enforce. */
    public Gate requireProof() {
        return new Gate(client, verifier, action, failure, true);
    }

    /** Requests a decision, or takes the proof that a request brought. A request that the service refuses is an exception. */
    public Outcome check(Ask ask, @Nullable String brought) throws CountersignException {
        boolean asked = brought == null || brought.isEmpty();
        try {
            if (!asked) return redeem(ask, brought, null);
            var request = AuthorizeRequest.of(ask.subject(), action, ask.resource(), verifier.audience(), ask.context());
            var decision = client.authorize(request);
            if (decision instanceof Decision.Allowed allowed) return redeem(ask, allowed.proof(), request.nonce());
            boolean passes = !proofRequired && (decision instanceof Decision.Unproven || decision.mode().equals("shadow"));
            return passes ? new Outcome.Allowed(null) : new Outcome.Decided(decision);
        } catch (CountersignException e) {
            if (e.kind() == CountersignException.Kind.INVALID) return new Outcome.Refused(e.code());
            if (!e.rateLimited() && !e.unavailable()) throw e;
            boolean open = failure == Failure.OPEN && asked && !e.rateLimited();
            return open ? new Outcome.Allowed(null) : new Outcome.Undecided(e);
        }
    }

    private Outcome redeem(Ask ask, String proof, @Nullable String nonce) throws CountersignException {
        var expect = Expect.of(action, ask.subject(), ask.resource(), ask.context());
        var claims = verifier.verify(proof, nonce == null ? expect : expect.withNonce(nonce));
        var used = client.consume(proof, verifier.audience(), action);
        if (used.get("valid").asBoolean() && used.path("claims").path("jti").equals(claims.get("jti"))) return new Outcome.Allowed(claims);
        return new Outcome.Refused(used.path("reason_codes").path(0).asText("proof_unknown"));
    }
}
