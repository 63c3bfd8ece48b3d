package dev.countersign;

import com.fasterxml.jackson.databind.JsonNode;

/**
 * One event of the stream. id is where to resume. Type resync: missed events cannot be sent, read listActivity. Otherwise data is an
 * ActivityEntry.
 */
public record StreamedEvent(String id, String type, JsonNode data) {}
