import { operationGroup } from '../operations/group.ts';
import type { Row } from '../operations/row.ts';
import type { Completion } from '../verb.ts';
import { SAMPLE_ID } from './samples.ts';

const SIDES: Record<string, Completion> = {
  sides: { words: ['workflow-input', 'agent-input', 'agent-output', 'tool-call', 'tool-result'], isList: true },
};

const COLUMNS = [
  'order',
  'name:name',
  'check=check.kind',
  'action',
  'sides:names',
  'of=attachment.kind',
  'which=attachment.name:text',
  'enabled',
  'id:id',
  'origin',
];

export const guardrails = operationGroup({
  summary: 'Make, try and order the rules about what may pass.',
  page: 'guardrails',
  examples: ['svc guardrails list', `svc guardrails test --text "mail ada@example.com" --agent-name support`],
  sample: SAMPLE_ID,
  verbs: {
    list: {
      summary: 'List the rules in the order in which they are asked.',
      operation: 'guardrails.list',
      columns: COLUMNS,
    },
    get: {
      summary: 'Show one rule with what it has found last.',
      operation: 'guardrails.get',
      form: async () => ({ human: (await import('../operations/guardrail-card.ts')).formatRule }),
    },
    create: {
      summary: 'Create a rule, behind those there are.',
      operation: 'guardrails.create',
      examples: [
        `svc guardrails create cards --action mask --sides agent-input,agent-output --check '{"kind":"pii","kinds":["card"]}'`,
        'svc guardrails create betting --action block --sides workflow-input --check-file betting.json --json',
      ],
      positionals: ['name'],
      completes: SIDES,
      done: 'Created',
      subject: describe,
      hint: () => 'The next start and the next turn keep to it.',
    },
    update: {
      summary: 'Change some of a rule, or switch it off: --no-enabled.',
      operation: 'guardrails.update',
      examples: [
        `svc guardrails update ${SAMPLE_ID} --no-enabled`,
        `svc guardrails update ${SAMPLE_ID} --action audit --json`,
      ],
      completes: SIDES,
      done: 'Changed',
      subject: describe,
    },
    order: {
      summary: 'Set the order of the rules: those named first, the others behind them.',
      operation: 'guardrails.order',
      items: 'rules',
      examples: [`svc guardrails order --ids ${SAMPLE_ID}`, `svc guardrails order --ids ${SAMPLE_ID} --json`],
      columns: COLUMNS,
    },
    test: {
      summary:
        'Try the rules, or one that is not kept yet, on a text or a recorded run; nothing is changed or recorded.',
      operation: 'guardrails.test',
      examples: [
        'svc guardrails test --text "mail ada@example.com" --agent-name support',
        `svc guardrails test --run ${SAMPLE_ID} --rule '{"check":{"kind":"injection"},"action":"block"}' --json`,
      ],
      form: async () => (await import('../operations/guardrail-card.ts')).DRY_RUN,
    },
    hits: {
      summary: 'List what rules have found, newest first, without the texts it was found in.',
      operation: 'guardrails.hits',
      items: 'hits',
      columns: [
        'at:ago',
        'rule=ruleName:name',
        'side',
        'action',
        'place:text',
        'count',
        'reason:long',
        'applied=isApplied',
        'run=runId:id',
      ],
    },
    delete: {
      summary: 'Delete a rule; what it has found stays listed.',
      operation: 'guardrails.delete',
      done: 'Deleted',
      subject: () => 'the rule',
    },
  },
});

// --- internal ---

function describe({ id, name }: Row): string {
  return `rule ${String(name)} (${String(id)})`;
}
