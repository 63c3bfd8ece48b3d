package dev.countersign.spring;

import dev.countersign.Gate;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties countersign.*.
 *
 * @param url the base URL of the service
 * @param key the key of a server credential
 * @param audience the audience of the decisions and their proofs
 * @param issuer the proof_issuer of the credential; without it, it is read from the service when it is first needed
 * @param environment the environment of the credential; without it, it is read from the service when it is first needed
 * @param failure what happens while the service is unavailable: closed, or open, which needs issuer and environment
 * @param timeout the time for one attempt of a call
 * @param retries the number of further attempts
 * @param webhookSecrets the secrets of a webhook endpoint, for a bean of type Webhooks
 */
@ConfigurationProperties("countersign")
public record CountersignProperties(
    String url, String key, String audience, @Nullable String issuer, @Nullable String environment, @DefaultValue("closed") Gate.Failure failure,
    @DefaultValue("10s") Duration timeout, @DefaultValue("2") int retries, @DefaultValue List<String> webhookSecrets) {

    private static final Pattern PLACEHOLDER = Pattern.compile("\\$\\{([^}:]+)}"); // Spring leaves one without a value as it is

    public CountersignProperties {
        present("url", url);
        present("key", key);
        present("audience", audience);
        if (issuer != null) present("issuer", issuer);
        if (environment != null) present("environment", environment);
        webhookSecrets.forEach(secret -> present("webhook-secrets", secret));
        if (!url.startsWith("https://") && !url.startsWith("http://")) throw new IllegalArgumentException("countersign.url must begin with https:// or http://");
        if ((issuer == null) != (environment == null)) throw new IllegalArgumentException("countersign.issuer and countersign.environment belong together");
        if (failure == Gate.Failure.OPEN && issuer == null) throw new IllegalArgumentException("countersign.failure=open needs countersign.issuer and countersign.environment");
    }

    private static void present(String name, @Nullable String value) {
        if (value == null || value.isBlank()) throw new IllegalArgumentException("countersign." + name + " is missing");
        var unset = PLACEHOLDER.matcher(value);
        if (unset.find()) throw new IllegalArgumentException("countersign." + name + " needs " + unset.group(1) + ", which is not set");
    }

    /** Leaves out what is secret. */
    @Override
    public String toString() {
        return "CountersignProperties[" + url + ", " + audience + "]";
    }
}
