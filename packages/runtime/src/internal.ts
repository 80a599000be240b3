/** What transformed modules import. Not for authors: the compiler writes these calls. */
export { registerClass } from './engine/classes.ts';
export { callStep, createStep } from './engine/step.ts';
export { markWorkflow } from './workflows/mark.ts';
