/** Countersign for relying parties: decisions, proofs of agency, webhooks and a gate for servlets. */
@NullMarked
package dev.countersign;

import org.jspecify.annotations.NullMarked;
