import type { Group } from '../group.ts';
import type { OperationForm } from '../operations/form.ts';
import { operationLeaf } from '../operations/group.ts';

export const rag: Group = {
  summary: 'Fill and search collections of texts.',
  page: 'rag',
  examples: ['svc rag upload handbook leave.pdf', 'svc rag search handbook "How do I book leave?"'],
  verbs: {
    list: operationLeaf({
      summary: 'List collections with how many documents each has, and the model of its vectors.',
      operation: 'rag.collections.list',
      form: async () => ({ human: (await import('../operations/rag.ts')).formatCollections }),
    }),
    add: operationLeaf({
      summary: 'Add a document to a collection, or replace that of the same id.',
      operation: 'rag.documents.add',
      examples: [
        'svc rag add handbook leave.md --file leave.md --title "Leave"',
        'svc rag add handbook notice --text "The office is closed on Friday." --json',
      ],
      positionals: ['id'],
      form: loadText,
      done: 'Added',
      subject: ({ id, version }) => `${String(id)}, version ${String(version)}`,
      hint: ({ state }) => (state === 'queued' ? 'It is embedded now, and found soon after.' : undefined),
    }),
    upload: {
      summary: 'Add a file to a collection: text, Markdown, HTML, CSV, JSON, PDF or DOCX.',
      load: async () => (await import('../commands/rag/upload.ts')).uploadFile,
    },
    rm: operationLeaf({
      summary: 'Delete a document of a collection.',
      operation: 'rag.documents.delete',
      done: 'Deleted',
      subject: ({ id }) => String(id),
    }),
    reindex: operationLeaf({
      summary: 'Embed all documents of a collection again, under another model; searches go on meanwhile.',
      operation: 'rag.collections.reindex',
      examples: ['svc rag reindex handbook --model vendor/embedding-large', 'svc rag reindex handbook --json'],
      done: 'Reindexing',
      subject: ({ name }) => String(name),
      hint: () => 'Searches are answered as before until all documents are embedded. svc rag list shows how many are.',
    }),
    search: operationLeaf({
      summary: 'Search a collection by meaning and by words, and show the scores.',
      operation: 'rag.search',
      examples: [
        'svc rag search handbook "How do I book leave?"',
        'svc rag search handbook XJ-4711 --mode text --top-k 1 --json',
      ],
      positionals: ['query'],
      form: async () => ({ human: (await import('../operations/rag.ts')).formatHits }),
    }),
  },
};

// --- internal ---

async function loadText(): Promise<OperationForm> {
  return (await import('../operations/rag.ts')).DOCUMENT_TEXT;
}
