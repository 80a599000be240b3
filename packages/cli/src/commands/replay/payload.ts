import { any, array, integer, memberOf, nullable, object, oneOf, string } from '../../payload/payload.ts';

const CALL = object({
  call: integer('The number of the call in the run.', { minimum: 0 }),
  name: string('What the code calls it.'),
  kind: string('What kind of step it is: step, sleep, hook and so on.'),
  source: string("`<file>#<name>` of an author's step, else what the engine calls it."),
  input: any('What it was called with.'),
  output: any('What it answered; null: nothing, or it failed or has no answer.'),
  error: memberOf('runs.get', 'error'),
  attempts: integer('How many attempts failed before.', { minimum: 0 }),
  at: nullable(string("The author's line that calls: `workflows/refund.workflow.ts:12`; null: not known.")),
});

const DIFFERENCE = object(
  {
    code: string('code_changed, nondeterministic_workflow, or result_changed: all steps are the same, the end is not.'),
    message: string('One sentence.'),
    call: nullable(integer('The number of the call; null: it is about the end of the run.')),
    recorded: nullable(string('The step of the history; null: there is none.')),
    called: nullable(string('The step the code asked for; null: it asked for none.')),
    at: nullable(string("The author's line; null: not known.")),
    was: any('What was recorded with the step, or as the end of the run.'),
    is: any('What the code has by now.'),
  },
  'The first place where the code differs from what the run recorded; null: none.',
);

const ENDED = object(
  {
    status: oneOf(['completed', 'failed'], 'How.'),
    output: any('What it returned; null where it failed.'),
    error: memberOf('runs.get', 'error'),
  },
  'How the code ended; null: it did not.',
);

/** What `svc replay` prints. */
export const REPLAY_PAYLOAD = object({
  runId: string('The run.'),
  name: string('Its workflow or agent.'),
  status: memberOf('runs.get', 'status'),
  outcome: oneOf(
    ['same', 'open', 'differs', 'stopped', 'stuck'],
    'open: the history ends before the code does; stopped: by --until. The command ends with 1 for differs and stuck.',
  ),
  calls: array(CALL, 'The steps that were replayed, in order.'),
  next: array(CALL, 'Where the history ends: the steps the code would do next; none of them is executed.'),
  difference: nullable(DIFFERENCE),
  ended: nullable(ENDED),
  promoted: nullable(string('The test that was written, absolute; null: none.')),
});
