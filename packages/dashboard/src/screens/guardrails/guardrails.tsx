import { useMay } from '../../app/box.ts';
import { useSearchState } from '../../app/search.ts';
import { New } from '../../ui/new.tsx';
import { Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Hits } from './hits.tsx';
import { RuleForm } from './rule-form.tsx';
import { Rules } from './rules.tsx';
import { TryRules } from './try-rules.tsx';
import { TryRuns } from './try-runs.tsx';

/** The rules about what may pass, what they say of a text, and what they have found. */
export default function Guardrails() {
  const mayWrite = useMay()('guardrails:write');
  const [{ rule, run, tab = rule === undefined ? 'rules' : 'hits' }, change] = useSearchState();
  return (
    <Page
      title="Guardrails"
      actions={mayWrite && <New label="New rule">{(close) => <RuleForm onClose={close} />}</New>}
    >
      <Tabs
        label="Guardrails"
        value={tab}
        onChange={(next) =>
          change({ tab: next === 'rules' ? undefined : next, rule: undefined, run: undefined }, 'push')
        }
        tabs={[
          { id: 'rules', title: 'Rules', content: () => <Rules /> },
          { id: 'try', title: 'Try', content: () => <TryRules /> },
          { id: 'recorded', title: 'Try on runs', content: () => <TryRuns key={run} first={run} /> },
          { id: 'hits', title: 'Hits', content: () => <Hits /> },
        ]}
      />
    </Page>
  );
}
