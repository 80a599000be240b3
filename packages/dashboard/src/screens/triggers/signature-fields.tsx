import { Field, Input, Select } from '../../ui/field.tsx';
import { membersOf } from './draft.ts';
import type { SignatureMember } from './draft.ts';
import type { DraftProps } from './trigger-form.tsx';

/** How a sender that is not known by name is known, and how old its calls may be. */
export function SignatureFields({ draft, onChange }: DraftProps) {
  const members = membersOf(draft.scheme);
  if (members.length === 0) return null;
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      {members.map((member) => {
        const options = CHOICES[member];
        const [label, hint] = TEXTS[member];
        return (
          <Field key={member} label={label} hint={hint}>
            {(parts) =>
              options ? (
                <Select
                  {...parts}
                  value={draft[member]}
                  onChange={({ target }) => onChange({ [member]: target.value })}
                  options={options}
                />
              ) : (
                <Input
                  {...parts}
                  type={member === 'windowSeconds' ? 'number' : 'text'}
                  value={draft[member]}
                  onChange={({ target }) => onChange({ [member]: target.value })}
                />
              )
            }
          </Field>
        );
      })}
    </div>
  );
}

// --- internal ---

const TEXTS: Record<SignatureMember, readonly [label: string, hint: string]> = {
  header: ['Header', 'Where the signature or the token is'],
  algorithm: ['Hash', 'Of the HMAC'],
  encoding: ['Written in', 'The signature'],
  prefix: ['Before it', 'Such as “sha256=”'],
  timestampHeader: ['Header of the time', 'Signed with the body as “time.body”, where there is one'],
  username: ['Username', 'Whose password the secret is'],
  windowSeconds: ['Seconds a call is good', '10 to 3,600. Default: 300'],
};

const CHOICES: Partial<Record<SignatureMember, readonly (readonly [string, string])[]>> = {
  algorithm: [
    ['sha256', 'SHA-256'],
    ['sha512', 'SHA-512'],
  ],
  encoding: [
    ['hex', 'Hex'],
    ['base64', 'Base64'],
  ],
};
