import { addPart } from '../../../../create/src/add.ts';
import type { AddOptions } from '../../../../create/src/add.ts';
import { detectManager } from '../../../../create/src/manager.ts';
import { formatAdd, reportAdded } from '../../../../create/src/report.ts';
import { CliError } from '../../errors.ts';
import { findProject } from '../../target.ts';
import type { Answer, Context } from '../../verb.ts';

/** The arguments all of them have. */
export const ADD_ARGS = {
  name: { type: 'positional', required: true, description: 'Lower-case letters, digits, "-" and "_".' },
  force: { type: 'boolean', default: false, description: 'Replace files that are there.' },
} as const;

export const ADD_PAYLOAD = {
  kind: 'agent, workflow or workflow-agent.',
  name: 'The name.',
  files: 'The files written, relative to the workspace.',
  calls: 'kind and name of what the workflow calls, or null.',
  template: 'What the workflow begins as, or null.',
  warnings: 'What to know about the name, a sentence each.',
  next: 'Three commands, in the order to run them.',
};

/** Writes into the workspace around the current folder. */
export function answerAdd(options: Omit<AddOptions, 'root'>, { cwd, env }: Context): Answer {
  const root = findProject(cwd);
  if (root === undefined)
    throw new CliError('no_project', `"${cwd}" is not in a workspace: no folder above has svc.json or deep-agents/.`, {
      suggestion: 'Run it in a workspace, or make one: svc init shop',
    });
  const report = reportAdded(addPart({ ...options, root }), detectManager(env));
  return { data: report, human: (style) => formatAdd(report, style) };
}
