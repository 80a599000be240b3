/** What transformed modules import. Not for authors: the compiler writes these calls. */
export { callStep, createStep } from './engine/step.ts';
export { markWorkflow } from './workflows/mark.ts';
