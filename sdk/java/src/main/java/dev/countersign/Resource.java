package dev.countersign;

/** The resource of an action, by its type and the relying party's own id. */
public record Resource(String type, String id) {
    public Resource {
        Context.present("resource.type", type);
        Context.present("resource.id", id);
    }
}
