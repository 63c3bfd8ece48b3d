package dev.countersign.spring;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.security.access.AccessDeniedException;
import org.springframework.security.authorization.AuthorizationDeniedException;
import org.springframework.security.web.access.AccessDeniedHandler;

/**
 * Responds to a request without a proof: 401 with the challenge (RFC 9470), 403 after a hold, a denial or a refused proof, 503 without a
 * decision. Every other denial is the next handler's. It is the default of each filter chain; if you set a handler of your own, let this be
 * around it.
 */
public final class CountersignAccessDeniedHandler implements AccessDeniedHandler {
    private final AccessDeniedHandler next;

    /** Makes a handler. */
    public CountersignAccessDeniedHandler(AccessDeniedHandler next) {
        this.next = next;
    }

    @Override
    public void handle(HttpServletRequest request, HttpServletResponse response, AccessDeniedException denial) throws IOException, ServletException {
        if (denial instanceof AuthorizationDeniedException e && e.getAuthorizationResult() instanceof CountersignResult result && !response.isCommitted()) {
            result.refuse(response);
            return;
        }
        next.handle(request, response, denial);
    }
}
