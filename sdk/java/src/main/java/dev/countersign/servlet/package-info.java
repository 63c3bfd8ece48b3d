/** A gate in front of servlets and of everything that runs in them, such as Spring MVC. */
@NullMarked
package dev.countersign.servlet;

import org.jspecify.annotations.NullMarked;
