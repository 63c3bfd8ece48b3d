package dev.countersign.spring;

import dev.countersign.Countersign;
import dev.countersign.Webhooks;
import org.springframework.aop.support.annotation.AnnotationMatchingPointcut;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Role;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.security.authorization.method.AuthorizationInterceptorsOrder;
import org.springframework.security.authorization.method.AuthorizationManagerBeforeMethodInterceptor;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.web.access.AccessDeniedHandlerImpl;
import org.springframework.security.web.util.matcher.AnyRequestMatcher;

/** Makes the client and the gates of the properties countersign.*, and guards the methods with {@link Countersigned}. */
@AutoConfiguration
@EnableConfigurationProperties(CountersignProperties.class)
public class CountersignAutoConfiguration {
    @Bean
    @ConditionalOnMissingBean
    Countersign countersign(CountersignProperties properties) {
        return new Countersign(properties.url(), properties.key(), properties.retries(), properties.timeout());
    }

    @Bean
    @ConditionalOnMissingBean
    CountersignGates countersignGates(CountersignProperties properties, Countersign client) {
        return new CountersignGates(properties, client);
    }

    @Bean
    @ConditionalOnMissingBean
    @Conditional(WebhookSecrets.class)
    Webhooks countersignWebhooks(CountersignProperties properties) {
        return new Webhooks(properties.webhookSecrets().toArray(String[]::new));
    }

    /** The gates are looked up at the first call, so that this does not create beans before Spring can process them. */
    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static AuthorizationManagerBeforeMethodInterceptor countersignedMethods(ObjectProvider<CountersignGates> gates) {
        var interceptor = new AuthorizationManagerBeforeMethodInterceptor(
            new AnnotationMatchingPointcut(null, Countersigned.class, true), new CountersignedMethods(gates::getObject));
        interceptor.setOrder(AuthorizationInterceptorsOrder.PRE_AUTHORIZE.getOrder() + 1);
        return interceptor;
    }

    @Bean
    @ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
    Customizer<HttpSecurity> countersignDenials() {
        var handler = new CountersignAccessDeniedHandler(new AccessDeniedHandlerImpl());
        return http -> http.exceptionHandling(handling -> handling.defaultAccessDeniedHandlerFor(handler, AnyRequestMatcher.INSTANCE));
    }

    /** One property with commas, or one for each entry. The binder leaves a placeholder without a value, which the properties then name. */
    static final class WebhookSecrets implements Condition {
        @Override
        public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
            return Binder.get(context.getEnvironment()).bind("countersign.webhook-secrets", Bindable.listOf(String.class)).isBound();
        }
    }
}
