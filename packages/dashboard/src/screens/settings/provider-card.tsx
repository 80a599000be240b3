import { useState } from 'react';
import { useCall, useChange } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useDialogs } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Field, Input, SecretInput } from '../../ui/field.tsx';
import { Panel } from '../../ui/page.tsx';
import { describeSecret, useTypedSecret } from '../../ui/secret-area.tsx';
import { toast } from '../../ui/toast.tsx';

/** What a change of the provider changes elsewhere. */
const ROOMS = ['provider', 'models', 'settings', 'catalog', 'workflows', 'discovery'];

/** Whom models are asked of. Its key is written, and never shown. */
export function ProviderCard() {
  const provider = useCall('provider.get', {});
  const mayWrite = useMay()('provider:write');
  const remove = useChange('provider.delete', ROOMS);
  const { asked, ask, close } = useDialogs('remove-provider');
  return (
    <Panel title="Model provider">
      <Answer of={provider} rows={2}>
        {({ baseUrl, source, hasKey }) => (
          <div className="flex flex-col gap-3">
            <p className="flex flex-wrap items-center gap-2">
              {baseUrl ? <code className="wrap-anywhere">{baseUrl}</code> : 'None is set.'}
              {source && <Badge>{source === 'stored' ? 'set here' : 'from the environment'}</Badge>}
              {baseUrl && <Badge tone={hasKey ? 'good' : 'neutral'}>{hasKey ? 'with a key' : 'without a key'}</Badge>}
            </p>
            {baseUrl && <Test />}
            {mayWrite && <Write key={baseUrl} baseUrl={source === 'stored' ? baseUrl : null} />}
            {mayWrite && source === 'stored' && (
              <div>
                <Button look="danger" onClick={() => ask('remove-provider')}>
                  Remove the provider
                </Button>
              </div>
            )}
          </div>
        )}
      </Answer>
      {asked['remove-provider'] && mayWrite && provider.data?.source === 'stored' && (
        <Confirm
          title="Remove the model provider?"
          verb="Remove"
          danger
          onClose={close}
          onConfirm={() => remove.mutateAsync({})}
        >
          Agents are held back until there is another. Its key is deleted with it.
        </Confirm>
      )}
    </Panel>
  );
}

// --- internal ---

function Test() {
  const test = useChange('provider.test', []);
  return (
    <div>
      <Button busy={test.isPending} onClick={() => test.mutate({})}>
        Test it
      </Button>
      <div role="status" className="mt-1">
        {test.data && (
          <p className={test.data.ok ? 'text-good' : 'text-bad'}>
            <bdi>
              {test.data.ok ? `It answered within ${test.data.ms} ms.` : (test.data.problem ?? 'It did not answer.')}
            </bdi>
          </p>
        )}
      </div>
      {test.error ? <Failure error={test.error} /> : null}
    </div>
  );
}

function Write({ baseUrl }: { baseUrl: string | null }) {
  const set = useChange('provider.set', ROOMS);
  const [url, setUrl] = useState(baseUrl ?? '');
  const { value: key, write: setKey, wasLeft } = useTypedSecret();
  const submit = async (): Promise<void> => {
    try {
      await set.mutateAsync(key === '' ? { baseUrl: url } : { baseUrl: url, apiKey: key });
      setKey('');
      toast('The model provider is set.');
    } catch {
      // Said below.
    }
  };
  return (
    <form
      noValidate
      aria-label="Set the model provider"
      className="flex max-w-xl flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Field label="Base URL" hint="A chat-completions endpoint, up to and including /v1">
        {(parts) => <Input {...parts} type="url" value={url} onChange={({ target }) => setUrl(target.value)} />}
      </Field>
      <Field
        label="Key"
        hint={describeSecret('Empty for a gateway that takes none; stored encrypted, never shown', wasLeft)}
      >
        {(parts) => <SecretInput {...parts} value={key} onChange={({ target }) => setKey(target.value)} />}
      </Field>
      {set.error ? <Failure error={set.error} /> : null}
      <div>
        <Button type="submit" look="primary" busy={set.isPending} disabled={url.trim() === ''}>
          Set the provider
        </Button>
      </div>
    </form>
  );
}
