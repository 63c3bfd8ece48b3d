package dev.countersign.spring;

import dev.countersign.CountersignException;
import dev.countersign.Gate;
import dev.countersign.servlet.CountersignFilter;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import org.springframework.security.authorization.AuthorizationResult;

/**
 * The result of a check. It is the authorizationResult of the AuthorizationDeniedException that a refused call ends in.
 *
 * @param outcome the outcome; null if there was none
 * @param refusal why the service refused to decide
 * @param fault why the service was not asked: the request, or an argument, says nothing that could be decided
 */
public record CountersignResult(Gate.@Nullable Outcome outcome, @Nullable CountersignException refusal, @Nullable IllegalArgumentException fault)
    implements AuthorizationResult {
    static CountersignResult of(Gate.Outcome outcome) {
        return new CountersignResult(outcome, null, null);
    }

    static CountersignResult of(CountersignException refusal) {
        return new CountersignResult(null, refusal, null);
    }

    /** Grants by a consumed proof, or by what the gate lets through without one. */
    @Override
    public boolean isGranted() {
        return outcome instanceof Gate.Outcome.Allowed;
    }

    /** Responds to a request that was not granted, as {@link CountersignFilter} does. */
    public void refuse(HttpServletResponse response) throws IOException {
        if (fault != null) CountersignFilter.refuse(response, fault);
        else if (refusal != null) CountersignFilter.refuse(response, refusal);
        else if (outcome != null) CountersignFilter.refuse(response, outcome);
        else throw new IllegalStateException("there is no outcome");
    }
}
