/** What transformed modules import. Not for authors: the compiler writes these calls. */
export { registerClass } from './engine/values/classes.ts';
export { bindCallback, bindNamed, bindStep } from './engine/primitives/callback.ts';
export { loadModule } from './engine/primitives/load-module.ts';
export { callStep, createClosure, createGetterStep, createStep, registerClosure } from './engine/primitives/step.ts';
export { registerStep } from './engine/values/steps.ts';
export { markMisplaced, markWorkflow } from './workflows/mark.ts';
