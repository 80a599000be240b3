/** What transformed modules import. Not for authors: the compiler writes these calls. */
export { registerClass } from './engine/values/classes.ts';
export { callStep, createStep } from './engine/primitives/step.ts';
export { markWorkflow } from './workflows/mark.ts';
