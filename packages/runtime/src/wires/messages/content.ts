import type { ChatMessage } from '../../agents/model/messages.ts';
import { BoxError } from '../../errors.ts';

/** A content block of the messages format; what is not known is left out. */
export interface Block {
  type: string;
  [member: string]: unknown;
}

export interface WireMessage {
  role: 'user' | 'assistant' | 'system';
  content: Block[];
}

/** Content as blocks, whether it came as text or as a list. */
export function toBlocks(value: unknown, param: string): Block[] {
  if (typeof value === 'string') return [{ type: 'text', text: value }];
  if (!Array.isArray(value)) throw invalid(param, `"${param}" must be a text or a list of blocks.`);
  return value.map((block: unknown, index) => {
    if (typeof (block as Block | null)?.type === 'string') return block as Block;
    throw invalid(`${param}[${index}]`, `"${param}[${index}]" must be a block with a "type".`);
  });
}

/**
 * A message as the provider takes it. Results of tools become messages of their own, before what else the user says.
 * Thinking stays here: a provider of chat completions takes none back.
 */
export function toChatMessages({ role, content }: WireMessage, param: string): ChatMessage[] {
  if (role === 'system') return [{ role, content: toText(content) }];
  if (role === 'assistant') return [toAssistant(content)];
  const results = content.flatMap((block, index) => (isResult(block) ? [toResult(block, `${param}[${index}]`)] : []));
  const pictures = results.flatMap(({ parts }) => parts);
  const parts = [...pictures, ...content.flatMap((block, index) => toParts(block, `${param}[${index}]`))];
  return [...results.map(({ message }) => message), ...(parts.length > 0 ? [toUser(parts)] : [])];
}

/** The texts among the blocks, each a paragraph. */
export function toText(blocks: readonly Block[]): string {
  return blocks.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : [])).join('\n\n');
}

// --- internal ---

type Part =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string } }
  | { type: 'file'; file: { filename: string; file_data: string } };

interface Source {
  type?: unknown;
  media_type?: unknown;
  data?: unknown;
  url?: unknown;
  content?: unknown;
}

function toUser(parts: Part[]): ChatMessage {
  const [first] = parts;
  return { role: 'user', content: parts.length === 1 && first?.type === 'text' ? first.text : parts };
}

function toAssistant(content: readonly Block[]): ChatMessage {
  const calls = content
    .filter(({ type, id, name }) => type === 'tool_use' && typeof id === 'string' && typeof name === 'string')
    .map(({ id, name, input }) => ({
      id: id as string,
      type: 'function' as const,
      function: { name: name as string, arguments: JSON.stringify(input ?? {}) },
    }));
  const text = toText(content);
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

function isResult({ type }: Block): boolean {
  return type === 'tool_result';
}

/** A tool message holds text alone; images and files of a result are the user's to show. */
function toResult(block: Block, param: string): { message: ChatMessage; parts: Part[] } {
  const { tool_use_id: id, content = '', is_error: isError } = block;
  if (typeof id !== 'string') throw invalid(param, `"${param}" must name its call in "tool_use_id".`);
  const all = toBlocks(content ?? '', `${param}.content`).flatMap((inner) => toParts(inner, `${param}.content`));
  const text = all.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n');
  const shown = isError === true && !/^error\b/i.test(text) ? `Error: ${text}` : text;
  return {
    message: { role: 'tool', tool_call_id: id, content: shown },
    parts: all.filter(({ type }) => type !== 'text'),
  };
}

function toParts(block: Block, param: string): Part[] {
  if (block.type === 'text') return typeof block.text === 'string' && block.text !== '' ? [toTextPart(block.text)] : [];
  if (block.type === 'image') return [{ type: 'image_url', image_url: { url: toUrl(block, param) } }];
  if (block.type === 'search_result') return toFound(block, param);
  return block.type === 'document' ? toDocument(block, param) : [];
}

function toFound({ title, source, content }: Block, param: string): Part[] {
  return [toTextPart(`${String(title)} (${String(source)}):\n${toText(toBlocks(content, `${param}.content`))}`)];
}

function toDocument(block: Block, param: string): Part[] {
  const source = sourceOf(block);
  const title = typeof block.title === 'string' ? block.title : 'document';
  if (source.type === 'text' && typeof source.data === 'string') return [toTextPart(`${title}:\n${source.data}`)];
  if (source.type === 'content')
    return toBlocks(source.content, `${param}.source.content`).flatMap((inner) => toParts(inner, param));
  // Providers read a file only where its bytes are; the address is at least something a tool can open.
  if (source.type === 'url' && typeof source.url === 'string') return [toTextPart(`${title}: ${source.url}`)];
  return [{ type: 'file', file: { filename: toFileName(title, source), file_data: toUrl(block, param) } }];
}

function toUrl(block: Block, param: string): string {
  const { type, media_type: media, data, url } = sourceOf(block);
  if (type === 'url' && typeof url === 'string') return url;
  if (type === 'base64' && typeof data === 'string' && typeof media === 'string') return `data:${media};base64,${data}`;
  throw invalid(
    `${param}.source`,
    `"${param}.source" must hold the ${block.type} as base64 with its "media_type", or its URL: this box keeps no files.`,
  );
}

function toFileName(title: string, { media_type: media }: Source): string {
  return media === 'application/pdf' && !title.endsWith('.pdf') ? `${title}.pdf` : title;
}

function sourceOf(block: Block): Source {
  return (block.source ?? {}) as Source;
}

function toTextPart(text: string): Part {
  return { type: 'text', text };
}

function invalid(param: string, message: string): BoxError {
  return new BoxError('invalid_request', message, { details: { param } });
}
