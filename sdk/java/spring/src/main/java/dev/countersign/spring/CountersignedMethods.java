package dev.countersign.spring;

import dev.countersign.Ask;
import dev.countersign.Resource;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.expression.Expression;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.security.authentication.AuthenticationTrustResolver;
import org.springframework.security.authentication.AuthenticationTrustResolverImpl;
import org.springframework.security.authorization.AuthorizationDecision;
import org.springframework.security.authorization.AuthorizationManager;
import org.springframework.security.authorization.AuthorizationResult;
import org.springframework.security.core.Authentication;
import org.springframework.web.context.request.RequestContextHolder;
import org.springframework.web.context.request.ServletRequestAttributes;

/** Decides on calls of methods with {@link Countersigned}. */
final class CountersignedMethods implements AuthorizationManager<MethodInvocation> {
    private static final ParameterNameDiscoverer NAMES = new DefaultParameterNameDiscoverer();
    private static final AuthenticationTrustResolver TRUST = new AuthenticationTrustResolverImpl();

    private final Supplier<CountersignGates> gates;
    private final Map<Method, Guard> guards = new ConcurrentHashMap<>();

    CountersignedMethods(Supplier<CountersignGates> gates) {
        this.gates = gates;
    }

    /** What the expressions of an annotation refer to. */
    public record Root(Authentication authentication) {}

    private record Guard(Countersigned annotation, Expression subject, Expression resource, Expression context) {
        static Guard of(Method method) {
            var annotation = AnnotatedElementUtils.findMergedAnnotation(method, Countersigned.class);
            if (annotation == null) throw new IllegalStateException(method + " has no @Countersigned");
            var parser = new SpelExpressionParser();
            return new Guard(annotation, parser.parseExpression(annotation.subject()), parser.parseExpression(annotation.resource()), parser.parseExpression(annotation.context()));
        }
    }

    @Override
    public AuthorizationResult authorize(Supplier<? extends @Nullable Authentication> user, MethodInvocation call) {
        var authentication = user.get();
        if (authentication == null || !TRUST.isAuthenticated(authentication)) return new AuthorizationDecision(false);
        var target = call.getThis();
        var method = AopUtils.getMostSpecificMethod(call.getMethod(), target == null ? null : AopUtils.getTargetClass(target));
        var guard = guards.computeIfAbsent(method, Guard::of);
        var arguments = new MethodBasedEvaluationContext(new Root(authentication), method, call.getArguments(), NAMES);
        Ask ask;
        try {
            ask = new Ask(text(guard.subject, arguments), new Resource(guard.annotation.resourceType(), text(guard.resource, arguments)), map(guard.context, arguments));
        } catch (IllegalArgumentException e) {
            return new CountersignResult(null, null, e); // what the caller passed; a mistake in the annotation is another exception
        }
        var request = RequestContextHolder.getRequestAttributes() instanceof ServletRequestAttributes current ? current.getRequest() : null;
        return gates.get().check(guard.annotation.action(), ask, request, guard.annotation.proofRequired());
    }

    private static String text(Expression expression, MethodBasedEvaluationContext arguments) {
        var value = expression.getValue(arguments);
        if (value == null || value.toString().isEmpty()) throw new IllegalArgumentException(expression.getExpressionString() + " is missing");
        return value.toString();
    }

    private static Map<String, Object> map(Expression expression, MethodBasedEvaluationContext arguments) {
        if (!(expression.getValue(arguments) instanceof Map<?, ?> map)) throw new IllegalStateException("the expression " + expression.getExpressionString() + " is no map");
        var out = new java.util.TreeMap<String, Object>();
        map.forEach((key, value) -> {
            if (value == null) throw new IllegalArgumentException("context." + key + " is missing");
            out.put(String.valueOf(key), value);
        });
        return out;
    }
}
