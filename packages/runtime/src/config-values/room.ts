import { defineRoom } from '../operations/room.ts';
import { createConfigValues } from './config-values.ts';
import type { ConfigValuesOptions } from './config-values.ts';
import { deleteConfig, getConfig, listConfig, listConfigHistory, setConfig } from './operations.ts';

export const configRoom = defineRoom({
  name: 'config',
  operations: [listConfig, getConfig, setConfig, deleteConfig, listConfigHistory],
  create: ({ db, kv, isBlank, loadProgram }: ConfigValuesOptions) =>
    createConfigValues({ db, kv, isBlank, loadProgram }),
  close: (config) => config.close(),
});
