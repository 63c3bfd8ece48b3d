import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs one test of KitTest and prints the cases that fail. */
public final class RunKit {
    public static void main(String[] arguments) {
        var failed = new AtomicInteger();
        var passed = new AtomicInteger();
        var request = LauncherDiscoveryRequestBuilder.request().selectors(selectMethod("dev.countersign.KitTest#" + arguments[0])).build();
        LauncherFactory.create().execute(request, new TestExecutionListener() {
            @Override
            public void executionFinished(TestIdentifier test, TestExecutionResult result) {
                if (!test.isTest()) return;
                if (result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) {
                    passed.incrementAndGet();
                    return;
                }
                failed.incrementAndGet();
                System.out.println(test.getDisplayName() + ": " + result.getThrowable().map(Object::toString).orElse(""));
            }
        });
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed.get() > 0 || passed.get() == 0 ? 1 : 0);
    }
}
