package dev.countersign;

import java.util.Map;

/** What a request is about to do. Fill it from the request's session and body, never from what only the page claims about its user. */
public record Ask(String subject, Resource resource, Map<String, Object> context) {}
