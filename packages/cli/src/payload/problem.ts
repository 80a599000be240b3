import { integer, object, string } from './payload.ts';

/** A problem of the workspace's code, as documents have it. */
export const PROBLEM = object({
  code: string('One of docs/reference/errors.md, "Problems of your code".'),
  message: string('One sentence: what is wrong, and what to do.'),
  file: string('Relative to the workspace.'),
  line: integer('From 1.', { minimum: 1 }),
  column: integer('From 1.', { minimum: 1 }),
  frame: string('The source around the place; empty where there is none.'),
});
