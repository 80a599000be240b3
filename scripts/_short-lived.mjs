// @ts-check
/**
 * Flags of Node for processes that live for seconds. PGlite is compiled once, by the compiler that is done at once: what the
 * optimizing one works on meanwhile costs a processor more than such a process ever asks of its database.
 */
export const SHORT_LIVED = ['--liftoff-only'];
