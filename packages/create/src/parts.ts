import { toFunctionName } from './names.ts';
import type { NewFile } from './place.ts';
import { readPiece, readTemplate } from './source.ts';
import type { TemplateName } from './source.ts';

/** What a workflow can begin as: `svc add workflow --template`. */
export const WORKFLOW_TEMPLATES = ['steps', 'approval', 'schedule', 'chat'] as const;
export type WorkflowTemplate = (typeof WORKFLOW_TEMPLATES)[number];

/** The name of what each template holds. */
export const TEMPLATE_ENTRIES: Record<Exclude<TemplateName, 'empty'>, string> = {
  agent: 'assistant',
  workflow: 'welcome',
  'workflow-agent': 'guide',
};

export interface Callee {
  kind: 'agent' | 'workflow';
  name: string;
}

/** The files of a template's agent or workflow under another name. */
export function renderPart(template: Exclude<TemplateName, 'empty'>, name: string): NewFile[] {
  const from = TEMPLATE_ENTRIES[template];
  return readTemplate(template).map(({ path, text }) => ({
    path: path.replace(`/${from}/`, `/${name}/`).replace(`/${from}.workflow.ts`, `/${name}.workflow.ts`),
    text: rename(text, from, name),
  }));
}

/** A workflow that calls an agent or another workflow, or one that begins as the template says. */
export function renderWorkflow(name: string, from: { template: WorkflowTemplate } | { calls: Callee }): NewFile[] {
  const path = `workflows/${name}.workflow.ts`;
  if ('calls' in from) {
    const text = rename(readPiece(`calls-${from.calls.kind}`), 'example', name);
    return [{ path, text: text.replaceAll("'callee'", `'${from.calls.name}'`) }];
  }
  if (from.template === 'steps') return renderPart('workflow', name);
  return [{ path, text: rename(readPiece(from.template), 'example', name) }];
}

// --- internal ---

/** In a template a name is in quotes, or is that of the exported function. */
function rename(text: string, from: string, to: string): string {
  return text.replaceAll(`'${from}'`, `'${to}'`).replaceAll(toFunctionName(from), toFunctionName(to));
}
