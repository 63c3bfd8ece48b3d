package dev.countersign;

import java.time.Duration;

/** A call that returned no result. Its message quotes no key, no proof and no body. */
public class CountersignException extends Exception {
    private static final long serialVersionUID = 1L;

    /** What kind of failure it is. */
    public enum Kind {
        /** The service refused the call: {@link #code()} says why. */
        REFUSED,
        /** The response violates the contract, such as a portal's page or an allow without its proof. It is never a decision. */
        PROTOCOL,
        /** No response was received, so that it is unknown whether the operation was carried out. */
        UNREACHABLE,
        /** A proof or a webhook is refused. */
        INVALID
    }

    private final Kind kind;
    private final int status;
    private final String code;
    private final String requestId;
    private final Duration retryAfter;

    CountersignException(Kind kind, int status, String code, String requestId, Duration retryAfter, String message) {
        super(message);
        this.kind = kind;
        this.status = status;
        this.code = code;
        this.requestId = requestId;
        this.retryAfter = retryAfter;
    }

    static CountersignException invalid(String code, String message) {
        return new CountersignException(Kind.INVALID, 0, code, "", Duration.ZERO, code + ": " + message);
    }

    static CountersignException unreachable(String message) {
        return new CountersignException(Kind.UNREACHABLE, 0, "", "", Duration.ZERO, message);
    }

    /** Returns the kind of failure. */
    public Kind kind() {
        return kind;
    }

    /** Returns the HTTP status; 0 if there was no response. */
    public int status() {
        return status;
    }

    /** Returns a stable name of the service's catalogue; empty if the response is not of the service. */
    public String code() {
        return code;
    }

    /** Returns the X-Request-Id of the response, to quote to the service's operators; may be empty. */
    public String requestId() {
        return requestId;
    }

    /** Returns how long to wait before a retry; zero if the response does not say. */
    public Duration retryAfter() {
        return retryAfter;
    }

    /** Reports whether a quota or rate limit refused the call. Refuse the request: an attacker who can cause requests can use up a quota. */
    public boolean rateLimited() {
        return status == 429;
    }

    /** Reports whether there is no decision: what to do then is the caller's policy. A refusal (4xx) is not unavailability. */
    public boolean unavailable() {
        return kind != Kind.INVALID && !(status >= 400 && status < 500);
    }
}
