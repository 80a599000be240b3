import { addPart } from '../../../../create/src/add.ts';
import type { AddOptions } from '../../../../create/src/add.ts';
import { detectManager } from '../../../../create/src/manager.ts';
import { WORKFLOW_TEMPLATES } from '../../../../create/src/parts.ts';
import { formatAdd, reportAdded } from '../../../../create/src/report.ts';
import { CliError } from '../../errors.ts';
import { array, nullable, object, oneOf, string } from '../../payload/payload.ts';
import type { TypeOf } from '../../payload/payload.ts';
import { findProject } from '../../client/target.ts';
import type { Context } from '../../context.ts';
import type { Answer } from '../../verb.ts';

/** The arguments all of them have. */
export const ADD_ARGS = {
  name: { type: 'positional', required: true, description: 'Lower-case letters, digits, "-" and "_".' },
  force: { type: 'boolean', default: false, description: 'Replace files that are there.' },
} as const;

export const ADD_PAYLOAD = object({
  kind: oneOf(['agent', 'workflow', 'workflow-agent'], 'What was added.'),
  name: string('The name.'),
  files: array(string(), 'The files written, relative to the workspace.'),
  calls: nullable(
    object(
      { kind: oneOf(['agent', 'workflow'], 'What it is.'), name: string('Its name.') },
      'What the workflow calls; null: nothing.',
    ),
  ),
  template: nullable(
    oneOf(WORKFLOW_TEMPLATES, 'What the workflow begins as; null: it calls something, or is no plain workflow.'),
  ),
  warnings: array(string(), 'What to know about the name, a sentence each.'),
  next: array(string(), 'Three commands, in the order to run them.'),
});

/** Writes into the workspace around the current folder. */
export function answerAdd(
  options: Omit<AddOptions, 'root'>,
  { cwd, env }: Context,
): Answer<TypeOf<typeof ADD_PAYLOAD>> {
  const root = findProject(cwd);
  if (root === undefined)
    throw new CliError('no_project', `"${cwd}" is not in a workspace: no folder above has svc.json or deep-agents/.`, {
      suggestion: 'Run it in a workspace, or make one: svc init shop',
    });
  const report = reportAdded(addPart({ ...options, root }), detectManager(env));
  return { data: report, human: (style) => formatAdd(report, style) };
}
