import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import { Button } from '../../ui/button.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Field, Input, Textarea } from '../../ui/field.tsx';
import { toast } from '../../ui/toast.tsx';
import { BROWSER_ROOMS } from './browser.ts';
import type { BrowserSettings } from './browser.ts';

/** Sets how much of the browser is used at once, for how long, and what its pages may ask. */
export function BrowserLimits({ settings: { limits, allowedHosts } }: { settings: BrowserSettings }) {
  const set = useChange('browser.set', BROWSER_ROOMS);
  const [draft, setDraft] = useState<Record<Limit, string>>(() => toTexts(limits));
  const [hosts, setHosts] = useState(allowedHosts.join('\n'));
  const numbers = LIMITS.map(([name]) => [name, Number(draft[name])] as const);
  const save = async (): Promise<void> => {
    try {
      const changed = Object.fromEntries(numbers.filter(([name, number]) => number !== limits[name]));
      await set.mutateAsync({ limits: changed, allowedHosts: hosts.split(/\s+/).filter(Boolean) });
      toast('It is saved.');
    } catch {
      // Said below.
    }
  };
  return (
    <details className="max-w-xl rounded border border-line p-3">
      <summary className="font-medium">Limits</summary>
      <form
        noValidate
        aria-label="Limits of the browser"
        className="mt-3 flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
          {LIMITS.map(([name, label, hint]) => (
            <Field key={name} label={label} hint={hint}>
              {(parts) => (
                <Input
                  {...parts}
                  inputMode="numeric"
                  value={draft[name]}
                  onChange={({ target }) => setDraft((before) => ({ ...before, [name]: target.value }))}
                />
              )}
            </Field>
          ))}
        </div>
        <Field
          label="Hosts that pages may ask"
          hint="One a line; *.example.com for those below one. Empty: any that is not private"
        >
          {(parts) => <Textarea {...parts} rows={3} value={hosts} onChange={({ target }) => setHosts(target.value)} />}
        </Field>
        {set.error ? <Failure error={set.error} /> : null}
        <div>
          <Button
            type="submit"
            busy={set.isPending}
            disabled={numbers.some(([name, number]) => isWrong(draft[name], number))}
          >
            Save the limits
          </Button>
        </div>
      </form>
    </details>
  );
}

// --- internal ---

type Limits = BrowserSettings['limits'];
type Limit = keyof Limits;

const LIMITS: readonly (readonly [name: Limit, label: string, hint: string])[] = [
  ['sessions', 'Sessions at once', 'Of each process of the box, 1 to 100'],
  ['pages', 'Pages of a session', '1 to 50; one more is closed again'],
  ['sessionSeconds', 'Seconds of a session', '1 to 3,600, whatever it does'],
  ['idleSeconds', 'Seconds without a call', '1 to 3,600, of the tools of an agent'],
];

function toTexts(limits: Limits): Record<Limit, string> {
  return Object.fromEntries(LIMITS.map(([name]) => [name, String(limits[name])])) as Record<Limit, string>;
}

function isWrong(text: string, number: number): boolean {
  return text.trim() === '' || !Number.isSafeInteger(number);
}
