import dev.countersign.AuthorizeRequest;
import dev.countersign.Countersign;
import dev.countersign.Decision;
import dev.countersign.Resource;
import java.util.Map;

/** The first decision with the jar. */
public class First {
    public static void main(String[] args) throws Exception {
        var client = new Countersign(System.getenv("COUNTERSIGN_URL"), System.getenv("COUNTERSIGN_KEY"));
        var decision = client.authorize(AuthorizeRequest.of(
            System.getenv("SUBJECT"), System.getenv("ACTION"), new Resource("account", "acc-1"), "payments", Map.of("amount", 250)));
        System.out.println(decision instanceof Decision.Challenged ? "challenge" : decision.getClass().getSimpleName());
    }
}
