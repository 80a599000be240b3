import { toPlainText } from '../terminal/style.ts';
import type { Style } from '../terminal/style.ts';
import { formatTable } from '../terminal/table.ts';
import type { Column } from '../terminal/table.ts';
import { formatCell } from './columns.ts';
import type { OperationForm } from './form.ts';
import type { Row } from './row.ts';
import { readText, toTextFlags } from './text-flags.ts';

/** The text of a document, from exactly one of two flags. */
export const DOCUMENT_TEXT: OperationForm = {
  replaces: ['text'],
  flags: toTextFlags('1,000,000 characters'),
  read: async (args, context) => ({ text: await readText(args, { what: 'text of the document', context }) }),
};

/** Collections, with what is in each. */
export function formatCollections(answer: Row, style: Style): string {
  const counts = (row: Row): Row => row.counts as Row;
  const embedding = (row: Row): Row => row.embedding as Row;
  const columns: Column<Row>[] = [
    { title: 'name', cell: ({ name }) => formatCell(name) },
    { title: 'documents', cell: (row) => formatCell(counts(row).documents) },
    { title: 'index', cell: ({ index }) => toIndexState(index as Index), shrinks: 12 },
    { title: 'pending', cell: (row) => formatCell(counts(row).pending) },
    { title: 'failed', cell: (row) => formatCell(counts(row).failed) },
    { title: 'chunks', cell: (row) => formatCell(counts(row).chunks) },
    { title: 'model', cell: (row) => formatCell(embedding(row).model), shrinks: 12 },
    { title: 'dimension', cell: (row) => formatCell(embedding(row).dimension) },
    { title: 'description', cell: ({ description }) => formatCell(description), shrinks: 20 },
  ];
  return formatTable(columns, answer.items as Row[], style);
}

/** What a search has found, the best first. */
export function formatHits(answer: Row, style: Style): string {
  const hits = answer.items as Row[];
  const isReranked = hits.some(({ rerankScore }) => rerankScore !== null);
  const columns: Column<Row>[] = [
    ...(isReranked ? [{ title: 'rerank', cell: ({ rerankScore }: Row) => toScore(rerankScore) }] : []),
    { title: 'score', cell: ({ score }) => toScore(score) },
    { title: 'vector', cell: ({ vectorRank }) => formatCell(vectorRank) },
    { title: 'words', cell: ({ textRank }) => formatCell(textRank) },
    { title: 'source', cell: ({ documentId, place }) => `${String(documentId)}:${String((place as Row).line)}` },
    { title: 'text', cell: ({ text }) => String(text).replaceAll(/\s+/g, ' '), shrinks: 30 },
  ];
  if (hits.length === 0) return style.columns === undefined ? '' : style.dim('Nothing was found.');
  const table = formatTable(columns, hits, style);
  const { error = null } = (answer.rerank ?? {}) as { error?: string | null };
  return error === null
    ? table
    : `${table}\n\n${style.dim(`Not reranked, so this is the order of the search. ${error}`)}`;
}

// --- internal ---

function toScore(score: unknown): string {
  return score === null ? '' : Number(score).toFixed(3);
}

// --- internal ---

interface Index {
  state: string;
  next: { state: string; model: string; ready: number; documents: number; error: string | null } | null;
}

/** What it is, and how far what is re-embedded. */
function toIndexState({ state, next }: Index): string {
  if (next === null) return state;
  const reason = next.state === 'stopped' ? `, stopped at ${next.error}` : '';
  return toPlainText(`to ${next.model}: ${next.ready} of ${next.documents}${reason}`);
}
