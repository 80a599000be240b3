import type { OperationForm } from '../operations/form.ts';
import type { Row } from '../operations/row.ts';
import { operationGroup } from '../operations/group.ts';

export const secrets = operationGroup({
  summary: 'Write, rotate and delete secrets; their values are never shown.',
  page: 'secrets',
  examples: ['svc secrets list', 'svc secrets set SMTP_PASSWORD --from-file password.txt'],
  sample: 'SMTP_PASSWORD',
  verbs: {
    list: {
      summary: 'List the names of secrets; never a value.',
      operation: 'secrets.list',
      columns: ['name:name', 'owner', 'version', 'set=setAt:ago', 'by=setBy:text', 'used=lastUsedAt:ago'],
    },
    set: {
      summary: 'Write a secret once.',
      operation: 'secrets.set',
      examples: [
        'svc secrets set SMTP_PASSWORD --from-file password.txt',
        'svc secrets set SMTP_PASSWORD < password.txt',
      ],
      form: loadValue,
      // It refuses a name that exists: nothing can be lost.
      asks: false,
      done: 'Stored',
      subject: secretOf,
    },
    rotate: {
      summary: 'Replace the value of a secret.',
      operation: 'secrets.rotate',
      examples: [
        'svc secrets rotate SMTP_PASSWORD --from-file password.txt --yes',
        'svc secrets rotate SMTP_PASSWORD --yes < password.txt',
      ],
      form: loadValue,
      done: 'Rotated',
      subject: secretOf,
    },
    delete: { summary: 'Delete a secret.', operation: 'secrets.delete', done: 'Deleted', subject: secretOf },
  },
});

// --- internal ---

async function loadValue(): Promise<OperationForm> {
  return (await import('../operations/secret-value.ts')).SECRET_VALUE;
}

function secretOf({ name }: Row): string {
  return `secret ${String(name)}`;
}
