package dev.countersign.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Runs a method of a Spring bean only on a consumed proof for exactly its arguments. It is checked after {@code @PreAuthorize} and before a
 * transaction begins. As with {@code @PreAuthorize}, a call of the bean's own method through {@code this} is not intercepted.
 *
 * <pre>{@code
 * @Countersigned(action = "payments.transfer", resourceType = "account", resource = "#to", context = "{amount: #amount, currency: 'EUR'}")
 * void transfer(String to, BigDecimal amount)
 * }</pre>
 *
 * <p>The attributes subject, resource and context are SpEL: the method's parameters are variables, authentication is the user's.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@Documented
public @interface Countersigned {
    /** The key of the action. */
    String action();

    /** The subject; by default the name of the user who is signed in. */
    String subject() default "authentication.name";

    /** The type of the resource. */
    String resourceType();

    /** The resource's id. */
    String resource();

    /** The context, a map with text keys. */
    String context() default "{:}";

    /** Whether nothing goes through without a proof, as it does in modes shadow and test. Set it once the action is in mode enforce. */
    boolean proofRequired() default false;
}
