import { LRUCache } from 'lru-cache';
import { eachOf } from '../../engine/each-of.ts';
import { BoxError } from '../../errors.ts';
import type { ObjectStat } from '../../storage/objects.ts';
import type { ChatMessage } from '../model/messages.ts';
import type { SentMessage } from '../threads/view.ts';
import type { ConversationMessage } from '../turn/input.ts';
import { decodeInline, encodeBase64, findInline } from './base64.ts';
import type { Decoded } from './base64.ts';
import { createFileStore } from './file-store.ts';
import type { FileStore, FileStoreOptions } from './file-store.ts';
import { mapFiles, placeIn } from './places.ts';
import type { Place } from './places.ts';
import { parseReference, REFERENCE, toReference } from './reference.ts';
import type { FileReference } from './reference.ts';

/** The files of conversations that the box keeps. Without object storage they stay in their messages. */
export interface TurnFiles {
  /**
   * What a turn records of its messages: a reference in place of each file of 8 KiB and more. Throws `invalid_request` for a
   * reference to what the session does not have. Without a session all stays in the messages.
   */
  prepare(sessionId: string | undefined, messages: readonly ConversationMessage[]): Promise<PreparedMessages>;
  /** The messages of a client with what the box has of them in place of a file that is the same, byte for byte. */
  align(
    sessionId: string,
    stored: readonly ConversationMessage[],
    sent: readonly SentMessage[],
  ): Promise<SentMessage[]>;
  /** The messages as a client or a person is shown them: with an address of each file, good for a quarter of an hour. */
  show<M extends { content: unknown }>(sessionId: string, messages: readonly M[]): Promise<M[]>;
  /** The messages as the model is shown them: with the files themselves. One that is gone is named. */
  forModel(sessionId: string | null, messages: readonly ChatMessage[]): Promise<ChatMessage[]>;
  /** Deletes the files of a session. Never throws. */
  drop(sessionId: string): Promise<void>;
  /** Deletes the files of sessions that are not there. Never waits and never throws. */
  sweep(): void;
  close(): Promise<void>;
}

export interface PreparedMessages {
  messages: ConversationMessage[];
  /** Keeps the files: once the session is there, and before the turn is. Throws what the storage answers. Undefined: there are none. */
  put: (() => Promise<void>) | undefined;
}

export type TurnFilesOptions = Omit<FileStoreOptions, 'storage'> & { storage: FileStoreOptions['storage'] | undefined };

export function createTurnFiles({ storage, ...options }: TurnFilesOptions): TurnFiles {
  const store = storage && createFileStore({ storage, ...options });
  /** As base64: a turn of many steps shows the model the same file again and again. */
  const read = new LRUCache<string, string>({
    maxSize: CACHED_CHARACTERS,
    sizeCalculation: ({ length }) => length + 1,
  });

  const load = async (sessionId: string, digest: string): Promise<string | undefined> => {
    const key = `${sessionId}/${digest}`;
    const known = read.get(key);
    if (known !== undefined) return known;
    const bytes = await store?.read(sessionId, digest);
    if (!bytes) return undefined;
    const text = await encodeBase64(bytes);
    read.set(key, text);
    return text;
  };

  return {
    async prepare(sessionId, messages) {
      const files = new Map<string, Decoded & { mediaType: string }>();
      const found = new Map<string, ObjectStat | undefined>();
      const find = async (digest: string): Promise<ObjectStat | undefined> => {
        if (store && sessionId !== undefined && !found.has(digest))
          found.set(digest, await store.find(sessionId, digest));
        return found.get(digest);
      };
      const referred = await mapFiles(messages, async (place, part, { id }) => {
        const named = await findNamed(store, place.text);
        if (named) {
          const { digest, isPlain } = named;
          // What is no reference is an address like any other, where there is no session.
          if (sessionId === undefined && named.sessionId !== undefined) return part;
          const isOwn = named.sessionId === undefined || named.sessionId === sessionId;
          const stat = isOwn ? await find(digest) : undefined;
          if (!stat) throw unknownFile(id);
          const { size, contentType: mediaType } = stat;
          return place.fill(toReference({ digest, size, mediaType, isPlain: isPlain || place.kind === 'input_audio' }));
        }
        const inline = store && sessionId !== undefined ? findInline(place) : undefined;
        if (!inline || inline.size < SMALL_BYTES) return part;
        const decoded = await decodeInline(place.text, inline);
        if (!decoded) return part;
        const { digest, bytes } = decoded;
        const { mediaType, isPlain } = inline;
        if (!files.has(digest)) files.set(digest, { ...decoded, mediaType });
        return place.fill(toReference({ digest, size: bytes.length, mediaType, isPlain }));
      });
      const put =
        store && sessionId !== undefined && files.size > 0
          ? async () => eachOf([...files.values()], AT_ONCE, (file) => store.put(sessionId, file))
          : undefined;
      return { messages: referred, put };
    },
    async align(sessionId, stored, sent) {
      const known = new Map(stored.map(({ id, content }) => [id, content]));
      const aligned: SentMessage[] = [];
      for (const one of sent) {
        const kept = indexFiles(known.get(one.id));
        const [message] = one.message
          ? await mapFiles([one.message], async (place, part) => {
              const named = await findNamed(store, place.text);
              if (!named && isUnreadable(place)) return undefined;
              const isForeign = named?.sessionId !== undefined && named.sessionId !== sessionId;
              return isForeign ? part : ((await findSame(kept, place, named)) ?? part);
            })
          : [];
        aligned.push(message ? { ...one, message } : one);
      }
      return aligned;
    },
    show: (sessionId, messages) =>
      mapFiles(messages, async (place, part) => {
        const reference = parseReference(place.text);
        if (!reference || !store) return part;
        const { digest, mediaType, size } = reference;
        const download = place.kind === 'file' ? { download: place.name ?? 'document' } : {};
        const url = await store.url(sessionId, digest, download.download);
        return place.fill(url, { mediaType, size });
      }),
    async forModel(sessionId, messages) {
      const wanted = listReferences(messages);
      if (wanted.size === 0) return [...messages];
      const texts = new Map<string, string>();
      let left = MOST_BYTES;
      const taken = [...wanted.values()].filter(({ size }) => (left -= size) >= 0);
      if (sessionId !== null)
        await eachOf(taken, AT_ONCE, async ({ digest }) => {
          const text = await load(sessionId, digest);
          if (text !== undefined) texts.set(digest, text);
        });
      const isTaken = new Set(taken.map(({ digest }) => digest));
      return mapFiles(messages, async (place, part) => {
        const reference = parseReference(place.text);
        if (!reference) return part;
        const { digest, mediaType, isPlain } = reference;
        const text = texts.get(digest);
        if (text === undefined)
          return toNote(reference, place, isTaken.has(digest) ? 'is no longer kept' : 'is left out');
        return place.fill(isPlain ? text : `data:${mediaType};base64,${text}`);
      });
    },
    async drop(sessionId) {
      await store?.drop(sessionId);
    },
    sweep: () => store?.sweep(),
    close: async () => store?.close(),
  };
}

// --- internal ---

/** Below this a reference would save little. */
const SMALL_BYTES = 8_192;
const AT_ONCE = 4;
/** Of all files that one call of the model is sent; the newest count. */
const MOST_BYTES = 64 * 1_048_576;
const CACHED_CHARACTERS = 64 * 1_048_576;

/** A file as a client names it. */
interface Named {
  digest: string;
  /** Undefined: the text does not say of which session. */
  sessionId?: string;
  isPlain: boolean;
}

async function findNamed(store: FileStore | undefined, text: string): Promise<Named | undefined> {
  // Whatever follows: it is no file that anyone else could read.
  if (text.startsWith(REFERENCE)) return parseReference(text) ?? { digest: 'none', isPlain: false };
  const addressed = text.startsWith('http') ? await store?.findAddressed(text) : undefined;
  return addressed && { ...addressed, isPlain: false };
}

/** Bytes are read where they stand: of documents and sounds a provider takes no address. */
function isUnreadable({ kind, text }: Place): boolean {
  return (kind === 'file' || kind === 'input_audio') && /^https?:/.test(text);
}

/** The files of a message as it is kept. */
interface KeptFiles {
  /** By kind and digest. */
  parts: Map<string, object>;
  sizes: Set<number>;
  /** Documents that stand in the message itself and have no name, by what they hold. */
  unnamed: Map<string, object>;
}

function indexFiles(content: unknown): KeptFiles {
  const kept: KeptFiles = { parts: new Map(), sizes: new Set(), unnamed: new Map() };
  for (const part of Array.isArray(content) ? (content as unknown[]) : []) {
    const place = placeIn(part);
    const reference = place && parseReference(place.text);
    if (place?.kind === 'file' && !reference && place.name === undefined) kept.unnamed.set(place.text, part as object);
    if (!reference) continue;
    kept.parts.set(`${place.kind} ${reference.digest}`, part as object);
    kept.sizes.add(reference.size);
  }
  return kept;
}

/** The part of the message, as it is kept, that has the same file. */
async function findSame(kept: KeptFiles, place: Place, named: Named | undefined): Promise<object | undefined> {
  if (named) return kept.parts.get(`${place.kind} ${named.digest}`);
  const unnamed = place.kind === 'file' ? kept.unnamed.get(place.text) : undefined;
  if (unnamed) return unnamed;
  const inline = findInline(place);
  if (!inline || !kept.sizes.has(inline.size)) return undefined;
  const decoded = await decodeInline(place.text, inline);
  return decoded && kept.parts.get(`${place.kind} ${decoded.digest}`);
}

/** By their digests, those of the newest message first. */
function listReferences(messages: readonly ChatMessage[]): Map<string, FileReference> {
  const found = new Map<string, FileReference>();
  for (const { content } of messages.toReversed())
    for (const part of Array.isArray(content) ? (content as unknown[]) : []) {
      const place = placeIn(part);
      const reference = place && parseReference(place.text);
      if (reference && !found.has(reference.digest)) found.set(reference.digest, reference);
    }
  return found;
}

function toNote({ mediaType, size }: FileReference, { name }: Place, why: string): object {
  const what = name === undefined ? '' : ` "${name}"`;
  return { type: 'text', text: `[A file${what} stood here and ${why}: ${mediaType}, ${size} bytes.]` };
}

function unknownFile(id: string): BoxError {
  return new BoxError(
    'invalid_request',
    `The message "${id}" names a file that its session does not have. Send the bytes of the file in its place.`,
    { details: { param: 'messages', message: id } },
  );
}
