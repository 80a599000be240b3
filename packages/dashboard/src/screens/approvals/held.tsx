import { Value } from '../../chat/value.tsx';
import { Link } from '../../ui/link.tsx';
import { toHeldTexts } from './held-texts.ts';
import type { Approval } from './approval.ts';

/** The text that a guardrail holds, part by part. */
export function Held({ approval }: { approval: Approval }) {
  const { texts, isCut } = toHeldTexts(approval.payload);
  return (
    <div className="space-y-3">
      {texts.map(({ label, text }, place) => (
        <Value key={`${place} ${label}`} label={label} text={text} isWhole />
      ))}
      {isCut && (
        <p className="text-xs text-muted">
          It is longer than that: <Link to={`/runs/${approval.runId}`}>its run</Link> has all of it.
        </p>
      )}
    </div>
  );
}
