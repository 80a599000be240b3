import { svc } from '@svc/runtime';
import type { WorkflowRegister } from '@svc/runtime';

// Takes what the other workflow takes.
type Input = WorkflowRegister['callee']['input'];

export async function exampleWorkflow(input: Input) {
  'use workflow';
  // A run of its own: it is cancelled with this one, and when it fails its error is thrown here.
  const output = await svc.workflows.startAndWait('callee', input);
  return { output };
}
