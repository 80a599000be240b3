import { expect, test } from 'vitest';
import { createOperationCatalog } from '../src/surface/catalog.ts';
import type { OperationFilter } from '../src/surface/catalog.ts';
import { OPERATIONS } from '../src/surface/index.ts';

const catalog = createOperationCatalog(OPERATIONS);
const idsOf = (filter: OperationFilter): string[] => catalog.list(filter).map(({ id }) => id);

/** As a person asks, and the operation that does it. */
const QUESTIONS: [question: string, wanted: string][] = [
  ['Why did this run fail?', 'runs.why'],
  ['Retry the failed runs of today', 'runs.retry_all'],
  ['Make a prompt version that is friendlier', 'prompts.add_version'],
  ['Put the newest version of the prompt live', 'prompts.publish'],
  ['What did the triage agent spend this week?', 'usage.list'],
  ['Open the run that refunded order 17', 'runs.list'],
  ['What is waiting for my approval?', 'approvals.list'],
  ['Stop this run', 'runs.cancel'],
  ['Stop everything that is still running', 'runs.cancel_all'],
  ['Show me the errors in the logs of the last hour', 'logs.search'],
  ['How many runs failed yesterday?', 'runs.stats'],
  ['Who changed the settings last week?', 'activity.list'],
  ['Turn off the nightly report timer', 'jobs.update'],
  ['Run the nightly job now', 'jobs.run'],
  ['Switch the workspace to a cheaper default model', 'settings.update'],
  ['Which models can I use?', 'models.list'],
  ['Start the refund workflow for order 17', 'workflows.start'],
  ['What input does the refund workflow take?', 'workflows.schema'],
  ['Undo the last change of the prompt', 'prompts.rollback'],
  ['What is different between versions 2 and 3 of the prompt?', 'prompts.diff'],
  ['Block credit card numbers in the answers', 'guardrails.create'],
  ['What has the e-mail rule caught so far?', 'guardrails.hits'],
  ['Revoke the key of the old website', 'keys.revoke'],
  ['When do the API keys expire?', 'keys.list'],
  ['Replace the database password', 'secrets.rotate'],
  ['Is the model provider reachable?', 'provider.test'],
  ['Raise the refund limit in the configuration', 'config.set'],
  ['Forget the conversation with Ann', 'sessions.delete'],
  ['What did the customer write in that chat?', 'sessions.messages'],
  ['Did the last eval get worse than the one before?', 'evals.runs.compare'],
];

/** Written before the ranking too, and not tuned to one by one: a list of words made for the table above fails here. */
const OTHERS: [question: string, wanted: string][] = [
  ['What is this run waiting for?', 'runs.why'],
  ['Kill the run that hangs', 'runs.cancel'],
  ['Pause this run until tomorrow', 'runs.pause'],
  ['Show the stack trace of the failing step', 'runs.step'],
  ['Remove the old runs of the import workflow', 'runs.delete_all'],
  ['Approve the refund that waits', 'approvals.decide'],
  ['Which workflows do we have?', 'workflows.list'],
  ['How many tokens did the key of the website use this month?', 'usage.list'],
  ['Disable the guardrail for phone numbers', 'guardrails.update'],
  ['Which secrets are set?', 'secrets.list'],
  ['Who approved the payout?', 'approvals.get'],
  ['What is the time zone of this workspace?', 'settings.get'],
  ['When does the newsletter job fire next?', 'jobs.list'],
  ['Turn this failed run into a test case', 'evals.cases.create'],
  ['Who gets an e-mail when a run fails?', 'notify.receivers'],
  ['Cancel the evaluation', 'evals.runs.cancel'],
  ['Reset the config value to its default', 'config.delete'],
  ['What does the triage agent do and which tools has it?', 'catalog.get'],
  ['Which version of the box is this?', 'contract.get'],
  ['How did the last evals score?', 'evals.runs.list'],
];

const missedOf = (questions: [string, string][]) =>
  questions.filter(([question, wanted]) => !idsOf({ query: question }).slice(0, 5).includes(wanted));

test('30 questions as people ask them find their operation among the first five, but for two at most', () => {
  expect(QUESTIONS).toHaveLength(30);
  const missed = missedOf(QUESTIONS);
  expect(missed.length > 2 ? missed : []).toEqual([]);
});

test('of 20 that the ranking was not made with, three are missed at most', () => {
  expect(OTHERS).toHaveLength(20);
  const missed = missedOf(OTHERS);
  expect(missed.length > 3 ? missed : []).toEqual([]);
});

test.each(['cancel', 'cancelled', 'cancelling', 'cancels', 'CANCEL', 'canc', 'abort', 'please cancel it for me'])(
  '"%s" finds what cancels a run first',
  (query) => {
    expect(idsOf({ query, tag: 'runs', kind: 'write' })[0]).toBe('runs.cancel');
  },
);

test('the name of an operation finds it first', () => {
  const callable = idsOf({});
  expect(callable.filter((id) => idsOf({ query: `what is ${id}?` })[0] !== id)).toEqual([]);
});

test('a tag and a kind narrow what is found, of which 20 at most are listed', () => {
  const found = catalog.list({ query: 'list get run', tag: 'runs', kind: 'read' });
  expect(found.map(({ tag, kind }) => `${tag} ${kind}`)).toEqual(found.map(() => 'runs read'));
  expect(found.length).toBeGreaterThan(2);
  expect(idsOf({ query: 'list get run settings keys evals' }).length).toBeLessThanOrEqual(20);
});

test('words that nothing has find nothing, and no words all there is', () => {
  expect(idsOf({ query: 'xylophone' })).toEqual([]);
  expect(idsOf({ query: '?! ' })).toEqual([]);
  expect(idsOf({ query: '  ' }).length).toBe(idsOf({}).length);
  expect(idsOf({ query: 'what is it' })).toEqual([]);
});

test('what no model may call is not found', () => {
  expect(idsOf({ query: 'create an API key' })).not.toContain('keys.create');
});
