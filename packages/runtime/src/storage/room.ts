import { defineRoom } from '../operations/room.ts';
import { createFiles } from './files.ts';
import {
  deleteObjects,
  downloadObject,
  listBuckets,
  listObjects,
  moveObject,
  statObject,
  uploadObject,
} from './operations.ts';
import type { BoxStorage } from './storage.ts';

export interface Given {
  options: { storage?: BoxStorage | undefined };
}

export const storageRoom = defineRoom({
  name: 'storage',
  operations: [listBuckets, listObjects, statObject, downloadObject, uploadObject, moveObject, deleteObjects],
  create: ({ options }: Given) => createFiles(options.storage),
});
