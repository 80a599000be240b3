import { defineRoom } from '../operations/room.ts';
import { deleteSecret, getSecret, listSecrets, rotateSecret, setSecret } from './operations.ts';
import { createSecrets } from './secrets.ts';
import type { SecretsOptions } from './secrets.ts';

export interface Given extends Omit<SecretsOptions, 'key'> {
  masterKey: SecretsOptions['key'];
}

export const secretsRoom = defineRoom({
  name: 'secrets',
  operations: [listSecrets, getSecret, setSecret, rotateSecret, deleteSecret],
  create: ({ db, masterKey, installation, isBlank }: Given) =>
    createSecrets({ db, key: masterKey, installation, isBlank }),
  close: (secrets) => secrets.close(),
});
