/** Countersign in Spring Boot: an authorization manager for requests, and an annotation for methods. */
@NullMarked
package dev.countersign.spring;

import org.jspecify.annotations.NullMarked;
