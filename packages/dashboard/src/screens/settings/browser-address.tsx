import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import { Button } from '../../ui/button.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Field, Input, SecretInput } from '../../ui/field.tsx';
import { toast } from '../../ui/toast.tsx';
import { BROWSER_ROOMS } from './browser.ts';
import type { BrowserSettings } from './browser.ts';

/** Sets where the browser is, and what it knows the box by. What is in an address is not shown, so none is filled in. */
export function BrowserAddress({ settings: { url, header, prefix } }: { settings: BrowserSettings }) {
  const set = useChange('browser.set', BROWSER_ROOMS);
  const [draft, setDraft] = useState<Draft>(EMPTY);
  const change = (some: Partial<Draft>) => setDraft((before) => ({ ...before, ...some }));
  const submit = async (): Promise<void> => {
    const given = Object.entries(draft).filter(([, text]) => text !== undefined && text !== '');
    const prefixed = draft.prefix === undefined ? {} : { prefix: draft.prefix };
    try {
      await set.mutateAsync({ ...(Object.fromEntries(given) as Partial<Draft>), ...prefixed });
      setDraft(EMPTY);
      toast('The browser is set.');
    } catch {
      // Said below.
    }
  };
  const isNothing =
    draft.url.trim() === '' &&
    (url === null || (draft.apiKey === '' && draft.header === '' && draft.prefix === undefined));
  return (
    <form
      noValidate
      aria-label="Set the browser"
      className="flex max-w-xl flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Field
        label="Address"
        hint={`The debugging endpoint (CDP) of a Chromium; {key} in its path or query is replaced by the key. ${url === null ? '' : 'Empty: as it is. Another one loses the key of this one.'}`}
      >
        {(parts) => (
          <Input
            {...parts}
            type="url"
            placeholder="wss://browser.example.com?token={key}"
            value={draft.url}
            onChange={({ target }) => change({ url: target.value })}
          />
        )}
      </Field>
      <Field label="Key of the browser" hint="Empty for one that asks for none; stored encrypted, never shown">
        {(parts) => (
          <SecretInput {...parts} value={draft.apiKey} onChange={({ target }) => change({ apiKey: target.value })} />
        )}
      </Field>
      <details className="rounded border border-line p-3">
        <summary className="font-medium">How it is sent the key</summary>
        <div className="mt-3 flex flex-col gap-3">
          <Field label="Header" hint="Where the address has no {key}">
            {(parts) => (
              <Input
                {...parts}
                placeholder={header}
                value={draft.header}
                onChange={({ target }) => change({ header: target.value })}
              />
            )}
          </Field>
          <Field label="Before the key" hint="With the space behind it, where there is one">
            {(parts) => (
              <Input
                {...parts}
                value={draft.prefix ?? prefix}
                onChange={({ target }) => change({ prefix: target.value })}
              />
            )}
          </Field>
        </div>
      </details>
      {set.error ? <Failure error={set.error} /> : null}
      <div>
        <Button type="submit" look="primary" busy={set.isPending} disabled={isNothing}>
          Set the browser
        </Button>
      </div>
    </form>
  );
}

// --- internal ---

interface Draft {
  url: string;
  apiKey: string;
  header: string;
  /** Undefined: as it is. */
  prefix: string | undefined;
}

const EMPTY: Draft = { url: '', apiKey: '', header: '', prefix: undefined };
