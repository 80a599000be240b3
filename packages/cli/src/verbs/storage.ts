import type { OperationForm } from '../operations/form.ts';
import type { Group } from '../group.ts';
import { operationLeaf } from '../operations/group.ts';

export const storage: Group = {
  summary: 'List, read, write and delete objects in the bucket of the box.',
  page: 'storage',
  examples: ['svc storage ls reports/', 'svc storage get reports/monday.pdf'],
  verbs: {
    buckets: operationLeaf({
      summary: 'Show the bucket of the box, and the prefix that is its own.',
      operation: 'storage.buckets',
      columns: ['name:name', 'prefix:text', 'region', 'path=forcePathStyle'],
    }),
    ls: operationLeaf({
      summary: 'List the folders and objects in a folder; with --recursive every object below it.',
      operation: 'storage.list',
      examples: ['svc storage ls reports/', 'svc storage ls reports/2026- --recursive --json'],
      items: 'objects',
      form: loadList,
    }),
    get: {
      summary: 'Download an object into a file.',
      load: async () => (await import('../commands/storage/get.ts')).getObject,
    },
    put: {
      summary: 'Upload a file as an object, of up to 5 GiB.',
      load: async () => (await import('../commands/storage/put.ts')).putObject,
    },
    rm: operationLeaf({
      summary: 'Delete an object, or what begins with a prefix, up to 1,000 at a time.',
      operation: 'storage.delete',
      examples: ['svc storage rm reports/monday.pdf --yes', 'svc storage rm --prefix reports/2025- --yes'],
      form: loadRemoval,
      done: 'Deleted',
      subject: ({ deleted }) => `${Number(deleted) === 1 ? '1 object' : `${Number(deleted)} objects`}`,
      hint: ({ isMore }) => (isMore === true ? 'More begin with it: run the command again.' : undefined),
    }),
  },
};

// --- internal ---

async function loadList(): Promise<OperationForm> {
  return (await import('../operations/objects.ts')).OBJECT_LIST;
}

async function loadRemoval(): Promise<OperationForm> {
  return (await import('../operations/objects.ts')).OBJECT_REMOVAL;
}
