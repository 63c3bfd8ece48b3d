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
 * @param outcome the outcome; null if the service refused to decide
 * @param refusal why the service refused to decide
 */
public record CountersignResult(Gate.@Nullable Outcome outcome, @Nullable CountersignException refusal) implements AuthorizationResult {
    /** Grants by a consumed proof, or by what the gate lets through without one. */
    @Override
    public boolean isGranted() {
        return outcome instanceof Gate.Outcome.Allowed;
    }

    /** Responds to a request that was not granted, as {@link CountersignFilter} does. */
    public void refuse(HttpServletResponse response) throws IOException {
        if (refusal != null) CountersignFilter.refuse(response, refusal);
        else if (outcome != null) CountersignFilter.refuse(response, outcome);
        else throw new IllegalStateException("there is neither an outcome nor a refusal");
    }
}
