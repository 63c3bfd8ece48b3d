package dev.countersign;

import java.io.File;
import java.io.IOException;
import java.io.StringWriter;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;

/** The examples of a README, compiled into a class. */
public final class Readme {
    private final String text;

    /** Reads a README. */
    public Readme(Path file) throws IOException {
        text = Files.readString(file);
    }

    /** Returns an example. Its environment variables are system properties, which a test can set. */
    public String example(String name) {
        var found = Pattern.compile("(?s)<!-- example: " + name + " -->\n```(?:java|properties)\n(.*?)```").matcher(text);
        if (!found.find()) throw new IllegalStateException("the README has no example " + name);
        return found.group(1).replace("System.getenv(", "System.getProperty(");
    }

    /** Returns how many examples there are, so that a test leaves none out. */
    public long examples() {
        return Pattern.compile("```(?:java|properties)\n").matcher(text).results().count();
    }

    /** Compiles the source of a class, without warnings, and loads it. */
    public static Class<?> compile(Path folder, String name, String source) throws IOException, ClassNotFoundException {
        var file = folder.resolve(name + ".java");
        Files.writeString(file, source);
        var compiler = ToolProvider.getSystemJavaCompiler();
        var messages = new StringWriter();
        var options = List.of("-d", folder.toString(), "-cp", System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")), "-parameters", "-proc:none",
            "-Xlint:all,-classfile", "-Werror");
        try (var files = compiler.getStandardFileManager(null, null, null)) {
            if (!compiler.getTask(messages, files, null, options, null, files.getJavaFileObjects(new File(file.toString()))).call()) throw new IllegalStateException(messages.toString());
        }
        return new URLClassLoader(new URL[] {folder.toUri().toURL()}, Readme.class.getClassLoader()).loadClass(name);
    }
}
