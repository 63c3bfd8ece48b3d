import dev.countersign.Ask;
import dev.countersign.Decision;
import dev.countersign.Gate;
import dev.countersign.Resource;
import dev.countersign.spring.CountersignGates;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;

/** The first decision with the starter of Spring Boot. */
@EnableAutoConfiguration
public class Started {
    public static void main(String[] args) throws Exception {
        var application = new SpringApplication(Started.class);
        application.setDefaultProperties(Map.of("countersign.url", System.getenv("COUNTERSIGN_URL"), "countersign.key", System.getenv("COUNTERSIGN_KEY"),
            "countersign.audience", "payments", "logging.level.root", "off", "spring.main.banner-mode", "off", "server.port", "0"));
        try (var running = application.run(args)) {
            var ask = new Ask(System.getenv("SUBJECT"), new Resource("account", "acc-1"), Map.of("amount", 250));
            var outcome = running.getBean(CountersignGates.class).gate(System.getenv("ACTION")).check(ask, null);
            var challenged = outcome instanceof Gate.Outcome.Decided decided && decided.decision() instanceof Decision.Challenged;
            System.out.println(challenged ? "challenge" : outcome.getClass().getSimpleName());
        }
    }
}
