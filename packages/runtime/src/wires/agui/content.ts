import type { AguiContent, AguiPart, AguiSource } from './input.ts';

/**
 * Content as a provider takes it. Parts that cannot be handed on are dropped, as the protocol defines it; those with an address
 * that no provider reads, once it is known that the box has no such file.
 */
export function toProviderContent(content: AguiContent): unknown {
  if (typeof content === 'string') return content;
  return content.flatMap((part) => toProviderPart(part) ?? []);
}

/** Content as it is kept, for the client. */
export function toAguiContent(content: unknown): AguiContent {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : '';
  return content.flatMap((part: ProviderPart | null) => (part && toAguiPart(part)) ?? []);
}

/** The text of content, for a message that takes nothing else. */
export function toText(content: unknown): string {
  const parts = toAguiContent(content);
  if (typeof parts === 'string') return parts;
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

// --- internal ---

interface ProviderPart {
  type?: string;
  text?: string;
  refusal?: string;
  image_url?: { url?: string };
  video_url?: { url?: string };
  input_audio?: { data?: string; format?: string };
  file?: { file_data?: string; file_id?: string; filename?: string };
  /** Of a file that the box keeps. */
  svc?: { mediaType: string };
}

function toProviderPart(part: AguiPart): ProviderPart | undefined {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const { type, source } = part;
  const url = toUrl(source);
  if (type === 'image') return url === undefined ? undefined : { type: 'image_url', image_url: { url } };
  if (type === 'video') return url === undefined ? undefined : { type: 'video_url', video_url: { url } };
  if (type === 'audio') {
    if (source.type === 'file') return undefined;
    const { mimeType = 'audio/wav' } = source;
    const format = mimeType.replace(/^audio\/(?:x-)?/, '').replace('mpeg', 'mp3');
    return { type: 'input_audio', input_audio: { data: source.value, format } };
  }
  return { type: 'file', file: source.type === 'file' ? { file_id: source.value } : { file_data: url ?? '' } };
}

function toAguiPart(part: ProviderPart): AguiPart | undefined {
  const { type, text, image_url: image, video_url: video, input_audio: audio, file, svc } = part;
  const known = svc?.mediaType;
  if (type === 'text' && typeof text === 'string') return { type, text };
  if (type === 'image_url' && image?.url) return { type: 'image', source: toSource(image.url, known) };
  if (type === 'video_url' && video?.url) return { type: 'video', source: toSource(video.url, known) };
  if (type === 'input_audio' && audio?.data) {
    const { data: value, format = 'wav' } = audio;
    return { type: 'audio', source: { type: svc ? 'url' : 'data', value, mimeType: `audio/${format}` } };
  }
  if (type === 'file' && file?.file_id) return { type: 'document', source: { type: 'file', value: file.file_id } };
  if (type === 'file' && file?.file_data) return { type: 'document', source: toSource(file.file_data, known) };
  return undefined;
}

/** Undefined: bytes that only a provider has. */
function toUrl(source: AguiSource): string | undefined {
  if (source.type === 'file') return undefined;
  return source.type === 'url' ? source.value : `data:${source.mimeType};base64,${source.value}`;
}

function toSource(url: string, known: string | undefined): AguiSource {
  const [, mimeType, value] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  return mimeType !== undefined && value !== undefined
    ? { type: 'data', value, mimeType }
    : { type: 'url', value: url, ...(known === undefined ? {} : { mimeType: known }) };
}
