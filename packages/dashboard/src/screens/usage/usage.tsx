import { useSearchState } from '../../app/search.ts';
import { Field, Select } from '../../ui/field.tsx';
import { Page, Panel } from '../../ui/page.tsx';
import { useNow } from '../../ui/time.tsx';
import { Days } from './days.tsx';
import { listMonths, toMonthName } from './month.ts';
import { BySession } from './by-session.tsx';
import { ByWorkflow } from './by-workflow.tsx';
import { ByWho } from './by-who.tsx';
import { Opened } from './opened.tsx';
import type { UsedBy } from './use-used.ts';

const BY = [
  ['agent', 'By agent'],
  ['workflow', 'By workflow'],
  ['key', 'By API key'],
  ['user', 'By user'],
  ['model', 'By model'],
  ['session', 'By session'],
] as const;
const KINDS: readonly string[] = ['agent', 'key', 'user', 'model'] satisfies UsedBy[];
/** Months that the box keeps, or a little less. */
const MONTHS = 13;

/** What models were used for, and what that has cost. */
export default function Usage() {
  const [{ by: asked, month: askedMonth, id }, change] = useSearchState();
  const months = listMonths(useNow(60_000), MONTHS);
  const month = months.find((each) => each === askedMonth) ?? months[0] ?? '';
  const by = BY.find(([each]) => each === asked)?.[0] ?? 'agent';
  return (
    <Page title="Usage">
      <div className="mb-3 flex flex-wrap gap-2">
        <Field label="Counted by" quiet>
          {(parts) => (
            <Select
              {...parts}
              value={by}
              options={BY}
              onChange={({ target }) => change({ by: target.value, id: undefined }, 'push')}
            />
          )}
        </Field>
        {by !== 'session' && (
          <Field label="Month" quiet>
            {(parts) => (
              <Select
                {...parts}
                value={month}
                options={months.map((each) => [each, toMonthName(each)] as const)}
                onChange={({ target }) => change({ month: target.value }, 'push')}
              />
            )}
          </Field>
        )}
      </div>
      {by !== 'session' && by !== 'workflow' && (
        <Panel title="Tokens per day, of all models">
          <Days kind="model" month={month} label="Tokens of all models" />
        </Panel>
      )}
      {by === 'workflow' && <ByWorkflow month={month} />}
      {by === 'session' && <BySession />}
      {KINDS.includes(by) && <ByWho kind={by as UsedBy} month={month} />}
      {id && KINDS.includes(by) && (
        <Opened kind={by as UsedBy} id={id} month={month} onClose={() => change({ id: undefined }, 'back')} />
      )}
    </Page>
  );
}
