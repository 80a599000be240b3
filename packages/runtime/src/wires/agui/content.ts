import type { AguiContent, AguiPart, AguiSource } from './input.ts';

/** Content as a provider takes it. Parts that cannot be handed on are dropped, as the protocol has it. */
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
  file?: { file_data?: string; file_id?: string };
}

function toProviderPart(part: AguiPart): ProviderPart | undefined {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const { type, source } = part;
  const url = toUrl(source);
  if (type === 'image') return url === undefined ? undefined : { type: 'image_url', image_url: { url } };
  if (type === 'video') return url === undefined ? undefined : { type: 'video_url', video_url: { url } };
  if (type === 'audio') {
    if (source.type !== 'data') return undefined;
    const format = source.mimeType.replace(/^audio\/(?:x-)?/, '').replace('mpeg', 'mp3');
    return { type: 'input_audio', input_audio: { data: source.value, format } };
  }
  if (source.type === 'url') return undefined;
  return { type: 'file', file: source.type === 'file' ? { file_id: source.value } : { file_data: url ?? '' } };
}

function toAguiPart(part: ProviderPart): AguiPart | undefined {
  const { type, text, image_url: image, video_url: video, input_audio: audio, file } = part;
  if (type === 'text' && typeof text === 'string') return { type, text };
  if (type === 'image_url' && image?.url) return { type: 'image', source: toSource(image.url) };
  if (type === 'video_url' && video?.url) return { type: 'video', source: toSource(video.url) };
  if (type === 'input_audio' && audio?.data)
    return { type: 'audio', source: { type: 'data', value: audio.data, mimeType: `audio/${audio.format ?? 'wav'}` } };
  if (type === 'file' && file?.file_id) return { type: 'document', source: { type: 'file', value: file.file_id } };
  if (type === 'file' && file?.file_data) return { type: 'document', source: toSource(file.file_data) };
  return undefined;
}

/** Undefined: bytes that only a provider has. */
function toUrl(source: AguiSource): string | undefined {
  if (source.type === 'file') return undefined;
  return source.type === 'url' ? source.value : `data:${source.mimeType};base64,${source.value}`;
}

function toSource(url: string): AguiSource {
  const [, mimeType, value] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  return mimeType !== undefined && value !== undefined
    ? { type: 'data', value, mimeType }
    : { type: 'url', value: url };
}
