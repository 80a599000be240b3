import { createElement } from 'react';
import type { ComponentType } from 'react';
import { beforeAll, describe, expect, test } from 'vitest';
import { WaysOn } from '../screens/catalog/ways-on.tsx';
import { ConfigKey } from '../screens/config/config-key.tsx';
import { CaseForm } from '../screens/evals/case-form.tsx';
import { SuiteForm } from '../screens/evals/suite-form.tsx';
import { Hits } from '../screens/guardrails/hits.tsx';
import { RuleForm } from '../screens/guardrails/rule-form.tsx';
import { TryRules } from '../screens/guardrails/try-rules.tsx';
import { TryRuns } from '../screens/guardrails/try-runs.tsx';
import { NewKey } from '../screens/keys/new-key.tsx';
import { Compare } from '../screens/prompt/compare.tsx';
import { UsedBy } from '../screens/prompt/used-by.tsx';
import { NewPrompt } from '../screens/prompts/new-prompt.tsx';
import { RunApprovals } from '../screens/run/approvals.tsx';
import { Published } from '../screens/run/published.tsx';
import { Repeats } from '../screens/run/repeats.tsx';
import { Webhooks } from '../screens/run/webhooks.tsx';
import { TriggerForm } from '../screens/triggers/trigger-form.tsx';
import { EarlierInputs } from '../screens/workflow/earlier-inputs.tsx';
import { StartedBy } from '../screens/workflow/started-by.tsx';
import { AgentFilter } from '../ui/agent-filter.tsx';
import { answer, openPart, openScreen, refuse, REFUSAL, stubBrowser, textOf } from './_draw.ts';

const NOTHING = { items: [], nextCursor: null };
const NO_ONE = () => {};
const PROMPT = { id: 'p', key: 'tone', ownerKind: 'workspace', ownerName: '', publishedVersion: 1, latestVersion: 2 };
const NAMES = 'The names of agents and workflows';
const part = (component: unknown, props: object) => () => createElement(component as ComponentType, props);

/** What is beside something else, the question it is read by, and what is said to be missing. */
const PARTS: readonly [id: string, part: () => ReturnType<typeof createElement>, what: string][] = [
  ['config.history', part(ConfigKey, { name: 'k', onClose: NO_ONE }), 'Its history'],
  ['approvals.list', part(RunApprovals, { id: 'r' }), 'What it has asked people'],
  ['runs.list', part(Repeats, { id: 'r' }), 'The runs that repeat it'],
  ['runs.list', part(EarlierInputs, { name: 'w', onUse: NO_ONE }), 'Earlier inputs'],
  ['runs.state', part(Published, { id: 'r' }), ''],
  ['runs.streams', part(Published, { id: 'r' }), ''],
  ['runs.webhooks', part(Webhooks, { id: 'r' }), ''],
  [
    'triggers.list',
    part(StartedBy, { workflow: { name: 'w', event: null, schedules: 0 } }),
    'The triggers that start it',
  ],
  ['prompts.list', part(WaysOn, { kind: 'agent', name: 'a' }), 'Its prompts'],
  ['prompts.list', part(WaysOn, { kind: 'prompt', name: 'agent:a:tone' }), 'The prompt'],
  ['prompts.versions', part(Compare, { prompt: PROMPT }), 'Other versions'],
  ['evals.suites.list', part(UsedBy, { prompt: PROMPT }), 'The suites'],
  ['runs.list', part(UsedBy, { prompt: PROMPT }), 'The runs that were given it'],
  ['guardrails.list', part(Hits, {}), 'The rules'],
  ['evals.cases.list', part(SuiteForm, { onClose: NO_ONE }), 'The cases'],
  ['discovery.get', part(SuiteForm, { onClose: NO_ONE }), NAMES],
  ['discovery.get', part(CaseForm, { onClose: NO_ONE }), NAMES],
  ['discovery.get', part(RuleForm, { onClose: NO_ONE }), NAMES],
  ['discovery.get', part(TryRules, {}), NAMES],
  ['discovery.get', part(TryRuns, {}), NAMES],
  ['discovery.get', part(NewKey, { onMade: NO_ONE, onClose: NO_ONE }), NAMES],
  ['discovery.get', part(NewPrompt, { onClose: NO_ONE }), NAMES],
  ['discovery.get', part(TriggerForm, { onClose: NO_ONE }), NAMES],
  ['discovery.get', part(AgentFilter, { agent: '', onChange: NO_ONE }), 'The names of agents'],
];

describe('what is asked beside something else, and is refused,', () => {
  beforeAll(stubBrowser);

  test.each(PARTS)('%s is said to be, and is no empty list', async (id, component, what) => {
    const draw = await openPart(component);
    const text = textOf(
      draw((query) => {
        if (query.queryKey[0] === id) refuse(query);
        // An item is not of the shape of a list: it is still being read.
        else if (query.queryKey[2] === 'list' || /\.list$|^discovery/.test(String(query.queryKey[0])))
          answer(query, NOTHING);
      }),
    );
    for (const said of [what === '' ? '' : `${what} could not be read.`, REFUSAL.message, 'overloaded', 'Try again'])
      expect(text).toContain(said);
  });

  test('the last use of a secret that is rotated', async () => {
    const draw = await openScreen('secrets', '?rotate=BANK');
    const secret = { name: 'BANK', version: 1, setAt: '2026-01-01T00:00:00Z', setBy: null, lastUsedAt: null };
    const text = textOf(
      draw((query) =>
        query.queryKey[0] === 'secrets.get' ? refuse(query) : answer(query, { items: [secret], nextCursor: null }),
      ),
    );
    expect(text).toContain('When it was read last could not be read.');
    expect(text).toContain('overloaded');
  });
});
