import type { Group } from '../group.ts';
import { operationLeaf } from '../operations/group.ts';
import type { Row } from '../operations/row.ts';
import { SAMPLE_ID } from './samples.ts';

export const evals: Group = {
  summary: 'Launch a suite of evals, and see its result.',
  page: 'evals',
  examples: ['svc eval smoke', 'svc eval list'],
  itself: {
    summary: 'Launch a suite, follow it, and end with 1 where it stays below its gates.',
    load: async () => (await import('../commands/eval/run.ts')).runSuite,
  },
  takes: 'suite',
  verbs: {
    list: operationLeaf({
      summary: 'List the suites with the result of their last run.',
      operation: 'evals.suites.list',
      items: 'suites',
      columns: [
        'name:name',
        'last=lastRun.status:state',
        'passed=lastRun.passed',
        'score=lastRun.score',
        'when=lastRun.createdAt:ago',
        'run=lastRun.id:id',
      ],
    }),
    get: operationLeaf({
      summary: 'Show one run of a suite: its cases by its scorers.',
      operation: 'evals.runs.get',
      wrap: 'run',
      examples: [`svc eval get ${SAMPLE_ID}`, `svc eval get ${SAMPLE_ID} --json`],
      form: async () => ({ human: (await import('../commands/eval/matrix.ts')).formatRun }),
    }),
    compare: operationLeaf({
      summary: 'Compare a run with the one before, or with another: what got worse, and what better.',
      operation: 'evals.runs.compare',
      items: 'cases',
      examples: [`svc eval compare ${SAMPLE_ID}`, `svc eval compare ${SAMPLE_ID} --with ${SAMPLE_ID}`],
      columns: ['change', 'name:name', 'before', 'after', 'passed=passRateAfter', 'case=caseId:id'],
    }),
    cancel: operationLeaf(
      {
        summary: 'Cancel a run of a suite, with what it has started.',
        operation: 'evals.runs.cancel',
        wrap: 'run',
        done: 'Cancelled',
        subject: ({ id, suite }: Row) => `eval run ${String(id)} of ${String(suite)}`,
      },
      SAMPLE_ID,
    ),
  },
};
