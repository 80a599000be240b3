import { Checkbox } from '../../ui/checkbox.tsx';
import { Field, Input, Select, Textarea } from '../../ui/field.tsx';
import { isOAuth } from './connection-state.ts';
import { listNeeded } from './draft.ts';
import type { Draft } from './draft.ts';
import type { FieldsProps } from './new-connection.tsx';

/** What a service of OAuth asks for besides. */
export function OAuthFields({ provider, draft, onChange }: FieldsProps) {
  const { auth, clientId, scopes, perUser } = draft;
  if (!isOAuth(auth)) return null;
  const needed = listNeeded(provider, auth);
  return (
    <>
      {needed.includes('authorizationUrl') && (
        <Address
          label="Where a person signs in (authorization endpoint)"
          name="authorizationUrl"
          {...{ draft, onChange }}
        />
      )}
      {needed.includes('tokenUrl') && <Address label="Token endpoint" name="tokenUrl" {...{ draft, onChange }} />}
      <Field label="Client id" hint="Of the app that is registered at the service; its secret is given afterwards">
        {(parts) => (
          <Input {...parts} value={clientId} onChange={({ target }) => onChange({ clientId: target.value })} />
        )}
      </Field>
      <Field label="Scopes" hint="What is asked for, with spaces between">
        {(parts) => (
          <Textarea {...parts} rows={2} value={scopes} onChange={({ target }) => onChange({ scopes: target.value })} />
        )}
      </Field>
      {auth === 'oauth2' && (
        <Checkbox value={perUser} onChange={(isOn) => onChange({ perUser: isOn })}>
          Each end user signs in with an account of their own
        </Checkbox>
      )}
    </>
  );
}

/** What few connections need. */
export function MoreFields({ provider, draft, onChange }: FieldsProps) {
  const { auth, title, origins, tokenAuth, params, header, prefix } = draft;
  const isCustom = provider.id === 'custom';
  const needed = listNeeded(provider, auth);
  // Where a service is run by its customers too.
  const elsewhere = ADDRESSES.filter(
    ([name]) => (provider[name] !== null || (isCustom && name === 'revocationUrl')) && !needed.includes(name),
  );
  return (
    <details className="rounded border border-line p-3">
      <summary className="font-medium">More</summary>
      <div className="mt-3 flex flex-col gap-3">
        <Field label="Title" hint="What people call it">
          {(parts) => (
            <Input
              {...parts}
              placeholder={provider.title}
              value={title}
              onChange={({ target }) => onChange({ title: target.value })}
            />
          )}
        </Field>
        <Field label="Further origins" hint="That may be sent the credential, one a line: https://uploads.example.com">
          {(parts) => (
            <Textarea
              {...parts}
              rows={2}
              value={origins}
              onChange={({ target }) => onChange({ origins: target.value })}
            />
          )}
        </Field>
        {elsewhere
          .filter(([name]) => name === 'baseUrl' || isOAuth(auth))
          .filter(([name]) => name !== 'authorizationUrl' || auth === 'oauth2')
          .map(([name, label]) => (
            <Address key={name} label={label} placeholder={provider[name] ?? ''} {...{ name, draft, onChange }} />
          ))}
        {auth === 'api_key' && isCustom && (
          <>
            <Field label="Header" hint="Where the key is put">
              {(parts) => (
                <Input
                  {...parts}
                  placeholder="authorization"
                  value={header}
                  onChange={({ target }) => onChange({ header: target.value })}
                />
              )}
            </Field>
            <Field label="Before the key" hint="With the space behind it, where there is one">
              {(parts) => (
                <Input
                  {...parts}
                  value={prefix ?? 'Bearer '}
                  onChange={({ target }) => onChange({ prefix: target.value })}
                />
              )}
            </Field>
          </>
        )}
        {isOAuth(auth) && (
          <Field label="Client authentication">
            {(parts) => (
              <Select
                {...parts}
                value={tokenAuth}
                onChange={({ target }) => onChange({ tokenAuth: target.value as Draft['tokenAuth'] })}
                options={[
                  ['', 'As the service expects it'],
                  ['basic', 'In a header'],
                  ['post', 'In the body'],
                  ['none', 'Not at all: it has no secret'],
                ]}
              />
            )}
          </Field>
        )}
        {auth === 'oauth2' && (
          <Field label="Parameters of the sign-in page" hint="name=value, one a line">
            {(parts) => (
              <Textarea
                {...parts}
                rows={2}
                value={params}
                onChange={({ target }) => onChange({ params: target.value })}
              />
            )}
          </Field>
        )}
      </div>
    </details>
  );
}

// --- internal ---

const ADDRESSES = [
  ['baseUrl', 'Another address of its API'],
  ['authorizationUrl', 'Another sign-in page'],
  ['tokenUrl', 'Another address of tokens'],
  ['revocationUrl', 'Revocation endpoint'],
] as const;

interface AddressProps {
  label: string;
  name: (typeof ADDRESSES)[number][0];
  placeholder?: string;
  draft: Draft;
  onChange(change: Partial<Draft>): void;
}

function Address({ label, name, placeholder = 'https://', draft, onChange }: AddressProps) {
  return (
    <Field label={label}>
      {(parts) => (
        <Input
          {...parts}
          type="url"
          placeholder={placeholder}
          value={draft[name]}
          onChange={({ target }) => onChange({ [name]: target.value })}
        />
      )}
    </Field>
  );
}
