package dev.countersign;

import java.util.Base64;

/** Canonical base64url without padding: lax decoders accept spare bits in a last character. */
final class Base64Url {
    private Base64Url() {}

    static byte[] decode(String text) {
        var raw = Base64.getUrlDecoder().decode(text);
        if (!Base64.getUrlEncoder().withoutPadding().encodeToString(raw).equals(text)) throw new IllegalArgumentException("not canonical base64url");
        return raw;
    }
}
