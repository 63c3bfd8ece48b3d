import java.util.EnumSet;
import javax.servlet.DispatcherType;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.FilterHolder;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/** A servlet behind the filter of examples/plain: PORT=8000 java SpringApp SUBJECT ACTION AUDIENCE */
public class SpringApp {
    public static void main(String[] args) throws Exception {
        var server = new Server(new java.net.InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv("PORT"))));
        var context = new ServletContextHandler(ServletContextHandler.SESSIONS);
        var filter = new CountersignFilter(args[1], args[2], request -> """
            "subject": "%s", "resource": {"type": "payment", "id": "pay-1"}, "context": {"amount": %d}"""
            .formatted(args[0], Integer.parseInt(request.getParameter("amount"))));
        context.addFilter(new FilterHolder(filter), "/payout", EnumSet.of(DispatcherType.REQUEST));
        context.addServlet(new ServletHolder(new Answer("paid ")), "/payout");
        context.addServlet(new ServletHolder(new Answer("yes")), "/alive");
        server.setHandler(context);
        server.start();
        server.join();
    }

    static class Answer extends HttpServlet {
        private final String text;

        Answer(String text) { this.text = text; }

        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws java.io.IOException {
            response.getWriter().print(text + java.util.Objects.toString(request.getParameter("amount"), ""));
        }
    }
}
