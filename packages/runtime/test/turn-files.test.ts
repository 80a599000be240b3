import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import { BUCKET, KEYS, startFixture, startServer } from '../../dev-s3/src/_setup.ts';
import { createFileStore } from '../src/agents/files/file-store.ts';
import { createLog } from '../src/log.ts';
import { createStorage } from '../src/storage/storage.ts';
import { createAgent, KEY, say, serveAgui, toldModel } from './_agui.ts';
import { call, json, setupBoxes } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
type Part = Record<string, unknown>;
interface Told {
  role: string;
  content: string | Part[];
}
interface Kept {
  messages: { role: string; content: (Part & { svc?: unknown; image_url: { url: string } })[] }[];
}

/** A box with object storage on a server that can be stopped, and started again on its port. */
async function open({ forcePathStyle = true } = {}) {
  const { dir, server } = await startFixture();
  const endpoint = server.url;
  const port = Number(new URL(endpoint).port);
  const at = { endpoint, bucket: BUCKET, region: 'us-east-1', ...KEYS, forcePathStyle };
  const storage = createStorage({ ...at, prefix: 'acme/support/' });
  const box = await boxes.open({ agents: { helper: createAgent() }, options: { storage } });
  return {
    box,
    storage,
    listKeys: async () => (await storage.list({ prefix: '.svc/files/' })).items.map(({ key }) => key),
    stop: () => server.close(),
    start: () => startServer(dir, { port }),
  };
}

/** 40,000 bytes, of which no two are the same. */
function newPicture() {
  const bytes = randomBytes(40_000);
  const data = bytes.toString('base64');
  const digest = createHash('sha256').update(bytes).digest('hex');
  return { bytes, data, digest, url: `data:image/png;base64,${data}` };
}

type Picture = ReturnType<typeof newPicture>;

/** One turn of the session over each wire: a message with the picture. */
const WIRES: Record<string, (box: TestBox, session: string, picture: Picture, headers?: object) => Promise<Response>> =
  {
    'chat completions': async (box, session, { url }, headers = {}) =>
      box.request(
        '/wire-a/v1/chat/completions',
        json(
          {
            model: 'helper',
            messages: [
              {
                role: 'user',
                content: [
                  { type: 'text', text: 'say:seen' },
                  { type: 'image_url', image_url: { url, detail: 'low' } },
                ],
              },
            ],
          },
          { headers: { ...KEY, 'x-svc-session': session, ...headers } },
        ),
      ),
    messages: async (box, session, { data }, headers = {}) =>
      box.request(
        '/wire-b/v1/messages',
        json(
          {
            model: 'helper',
            max_tokens: 100,
            messages: [
              {
                role: 'user',
                content: [
                  { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
                  { type: 'text', text: 'say:seen' },
                ],
              },
            ],
          },
          { headers: { ...KEY, 'x-svc-session': session, ...headers } },
        ),
      ),
    'AG-UI': async (box, session, { data }, headers = {}) =>
      box.request(
        '/agui/v1/agents/helper',
        json(
          {
            threadId: session,
            runId: 'r',
            messages: [
              {
                id: randomBytes(4).toString('hex'),
                role: 'user',
                content: [
                  { type: 'image', source: { type: 'data', value: data, mimeType: 'image/png' } },
                  { type: 'text', text: 'say:seen' },
                ],
              },
            ],
          },
          { headers: { ...KEY, ...headers } },
        ),
      ),
    'UI messages': async (box, session, { url }, headers = {}) =>
      box.request(
        '/ui/v1/agents/helper',
        json(
          {
            id: session,
            messages: [
              {
                id: randomBytes(4).toString('hex'),
                role: 'user',
                parts: [
                  { type: 'file', mediaType: 'image/png', url },
                  { type: 'text', text: 'say:seen' },
                ],
              },
            ],
          },
          { headers: { ...KEY, ...headers } },
        ),
      ),
  };

async function answered(answering: Promise<Response>): Promise<string> {
  const answer = await answering;
  const text = await answer.text();
  expect([answer.status, text]).toEqual([200, expect.stringContaining('seen')]);
  return text;
}

const runsOf = (box: TestBox) => box.journal.listRuns({ kind: 'agent' }, { limit: 20 });
/** The digests of the pictures that the model was shown last. */
const picturesTold = (box: TestBox) =>
  (toldModel(box) as Told[]).flatMap(({ content }) =>
    typeof content === 'string'
      ? []
      : content.flatMap((part) => {
          const [, data] = /^data:image\/png;base64,(.*)$/.exec((part.image_url as { url?: string })?.url ?? '') ?? [];
          return data === undefined ? [] : [createHash('sha256').update(Buffer.from(data, 'base64')).digest('hex')];
        }),
  );
const readSession = async (box: TestBox, session: string, headers: Record<string, string> = {}) =>
  (await call<{ items: Kept[] }>(box, `GET /api/sessions/${session}/messages?agent=helper`, undefined, headers)).body
    .items;

describe.each(Object.entries(WIRES))('a picture in a message of %s', (_wire, send) => {
  test('is kept once in its session, beside what is recorded, and the model is shown it after a restart too', async () => {
    const { box, listKeys, storage } = await open();
    const picture = newPicture();
    const session = `kept-${randomBytes(4).toString('hex')}`;
    await answered(send(box, session, picture));
    const [key = ''] = await listKeys();
    expect(key).toMatch(new RegExp(`^\\.svc/files/[0-9a-f-]{36}/${picture.digest}$`));
    const first = await storage.stat(key);
    expect(first).toMatchObject({ size: 40_000, contentType: 'image/png' });
    await answered(send(box, session, picture));
    // The same object, and not another one in its place.
    expect(await listKeys()).toEqual([key]);
    expect((await storage.stat(key)).lastModified).toBe(first.lastModified);
    expect(picturesTold(box)).toEqual([picture.digest, picture.digest]);
    for (const run of await runsOf(box)) {
      const records = await box.journal.getRecords(run.runId);
      expect(JSON.stringify([run.input, records]).length).toBeLessThan(8_000);
    }
    const again = await box.restart();
    const other = newPicture();
    await answered(send(again, session, other));
    expect(picturesTold(again)).toEqual([picture.digest, picture.digest, other.digest]);
    const [turn] = await readSession(again, session);
    const content = turn?.messages[0]?.content ?? [];
    const shown = content.find((part) => 'image_url' in part);
    expect(shown?.svc).toEqual({ mediaType: 'image/png', size: 40_000 });
    const read = await fetch(shown?.image_url.url ?? '');
    expect([read.headers.get('content-type'), Buffer.from(await read.arrayBuffer()).equals(picture.bytes)]).toEqual([
      'image/png',
      true,
    ]);
  });

  test('refuses the turn while the storage is down, and the same request is answered once it is back', async () => {
    const { box, stop, start, listKeys } = await open();
    const session = `down-${randomBytes(4).toString('hex')}`;
    const picture = newPicture();
    const key = { 'idempotency-key': session };
    await stop();
    const refused = await send(box, session, picture, key);
    const text = await refused.text();
    expect([refused.status, text]).toEqual([503, expect.stringContaining('The object storage does not answer')]);
    expect(await runsOf(box)).toEqual([]);
    await start();
    const answer = await answered(send(box, session, picture, key));
    expect(answer).toContain('seen');
    await answered(send(box, `${session}-2`, picture));
    expect(await listKeys()).toHaveLength(2);
  });
});

/** What a request to the session answers that names a file in place of a picture. */
const name = async (box: TestBox, session: string, url: string, headers: object = {}) => {
  const answer = await WIRES['chat completions']?.(box, session, { ...newPicture(), url }, headers);
  return { status: answer?.status, text: (await answer?.text()) ?? '' };
};
const shownUrl = async (box: TestBox, session: string) => {
  const [turn] = await readSession(box, session);
  return turn?.messages[0]?.content.find((part) => 'image_url' in part)?.image_url.url ?? '';
};
const send = (box: TestBox, session: string, picture: Picture, headers: object = {}) =>
  answered(WIRES['chat completions']?.(box, session, picture, headers) ?? Promise.reject(new Error()));

describe('a file that is kept', () => {
  test('is shown to a client of AG-UI, which sends back what it was shown, and edits it', async () => {
    const { box, listKeys } = await open();
    const { client } = await serveAgui(box);
    const picture = newPicture();
    const first = client('thread', {
      messages: [
        {
          id: 'm1',
          role: 'user',
          content: [
            { type: 'image', source: { type: 'data', value: picture.data, mimeType: 'image/png' } },
            { type: 'text', text: 'say:seen' },
          ],
        },
      ],
    });
    await say(first);
    // Its own copy has the bytes, and is the thread.
    await say(first, 'say:two');
    const other = client('thread');
    await say(other, 'say:three');
    const [asked] = other.messages as unknown as { content: { source: { type: string; value: string } }[] }[];
    const shown = asked?.content[0];
    expect(shown).toMatchObject({ type: 'image', source: { type: 'url', mimeType: 'image/png' } });
    const read = await fetch(shown?.source.value ?? '');
    expect(Buffer.from(await read.arrayBuffer()).equals(picture.bytes)).toBe(true);
    await say(other, 'say:four');
    expect(toldModel(box).map(({ role }) => role)).toEqual([
      'system',
      ...Array.from({ length: 3 }, () => ['user', 'assistant']).flat(),
      'user',
    ]);
    expect(other.messages).toHaveLength(8);
    // Under another id, what it was shown is the same file.
    other.setMessages([{ ...(other.messages[0] as never as object), id: 'm2' } as never]);
    await say(other);
    expect(picturesTold(box)).toEqual([picture.digest, picture.digest]);
    expect(await listKeys()).toHaveLength(1);
  });

  test('is shown to a page of useChat, with documents and their names', async () => {
    const { box } = await open();
    const url = `${await box.listen()}/ui/v1/agents/helper`;
    const bytes = randomBytes(20_000);
    const part = (address: string) => ({
      type: 'file',
      mediaType: 'application/pdf',
      url: address,
      filename: 'offer.pdf',
    });
    const text = (said: string) => ({ type: 'text', text: said });
    const post = async (messages: object[]) => answered(fetch(url, json({ id: 'chat', messages }, { headers: KEY })));
    await post([
      {
        id: 'm1',
        role: 'user',
        parts: [part(`data:application/pdf;base64,${bytes.toString('base64')}`), text('say:seen')],
      },
    ]);
    const readChat = async () => {
      const read = await fetch(`${url}/chat`, { headers: KEY });
      return ((await read.json()) as { messages: { id: string; role: string; parts: { url: string }[] }[] }).messages;
    };
    const shown = await readChat();
    expect(shown[0]?.parts).toEqual([part(expect.stringMatching(/^http/) as never), text('say:seen')]);
    const read = await fetch(shown[0]?.parts[0]?.url ?? '');
    expect(read.headers.get('content-disposition')).toContain('offer.pdf');
    expect(Buffer.from(await read.arrayBuffer()).equals(bytes)).toBe(true);
    await post([...shown, { id: 'm3', role: 'user', parts: [text('say:seen again')] }]);
    expect((await readChat()).map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    const [, told] = toldModel(box) as {
      content: { type: string; file?: { filename: string; file_data: string } }[];
    }[];
    expect(told?.content[0]?.file).toEqual({
      filename: 'offer.pdf',
      file_data: `data:application/pdf;base64,${bytes.toString('base64')}`,
    });
  });

  test('is in no reach of another caller, session or turn without one, whatever they send', async () => {
    const { box } = await open();
    const picture = newPicture();
    await send(box, 'shared', picture);
    const url = await shownUrl(box, 'shared');
    const reference = `svc-file:${picture.digest}?size=40000&type=image/png`;
    const mallory = { 'x-svc-user': 'mallory' };
    const before = box.model.requests.length;
    for (const asked of [
      name(box, 'shared', url, mallory),
      name(box, 'shared', reference, mallory),
      name(box, 'other', url),
      name(box, 'other', reference),
      name(box, 'shared', `svc-file:${'0'.repeat(64)}`),
      name(box, 'shared', 'svc-file:../../secret'),
      name(box, '', reference),
    ]) {
      const { status, text } = await asked;
      expect([status, text]).toEqual([400, expect.stringContaining('names a file that its session does not have')]);
    }
    expect(box.model.requests).toHaveLength(before);
    // Its own session has it, under each of its names.
    for (const own of [url, reference]) {
      expect((await name(box, 'shared', own)).status).toBe(200);
      expect(picturesTold(box).at(-1)).toBe(picture.digest);
    }
  });

  test('that is gone is named to the model, and the conversation goes on', async () => {
    const { box, storage, listKeys } = await open();
    await send(box, 'gone', newPicture());
    await storage.delete(await listKeys());
    // Read again, as by a process that has not seen it.
    const again = await box.restart();
    const picture = newPicture();
    await send(again, 'gone', picture);
    expect(picturesTold(again)).toEqual([picture.digest]);
    expect(JSON.stringify(toldModel(again))).toContain(
      '[A file stood here and is no longer kept: image/png, 40000 bytes.]',
    );
  });

  test('goes with its session; a small one stays in its message', async () => {
    const { box, listKeys } = await open();
    await send(box, 'one', newPicture());
    await send(box, 'two', newPicture());
    const small = `data:image/png;base64,${randomBytes(2_000).toString('base64')}`;
    await send(box, 'two', { ...newPicture(), url: small });
    expect(await listKeys()).toHaveLength(2);
    const [run] = await runsOf(box);
    expect(run?.input).toContain(small);
    expect((await call(box, 'DELETE /api/sessions/one?agent=helper')).status).toBe(200);
    const [left, ...others] = await listKeys();
    expect(others).toEqual([]);
    const { body } = await call(box, 'GET /api/sessions/two?agent=helper');
    expect(left).toContain(`/${String(body.sessionId)}/`);
  });

  test('of a session that never came is swept up, and no other', async () => {
    const { box, storage, listKeys } = await open();
    await send(box, 'kept', newPicture());
    const [kept = ''] = await listKeys();
    const orphan = `.svc/files/00000000-0000-8000-8000-000000000000/${'0'.repeat(64)}`;
    await storage.put(orphan, 'x');
    const store = createFileStore({
      storage,
      listSessions: async (ids) => ids.filter((id) => kept.includes(id)),
      log: createLog({ level: 'silent', write: () => {} }),
      leftMs: 0,
    });
    store.sweep();
    await store.close();
    await vi.waitFor(async () => expect(await listKeys()).toEqual([kept]));
  });
});

test('without object storage files stay in their messages', async () => {
  const box = await boxes.open({ agents: { helper: createAgent() } });
  const picture = newPicture();
  for (let turn = 1; turn <= 2; turn++) await send(box, 'inline', picture);
  expect(picturesTold(box)).toEqual([picture.digest, picture.digest]);
  const [run] = await runsOf(box);
  expect(run?.input).toContain(picture.url);
  expect((await name(box, 'inline', `svc-file:${picture.digest}`)).status).toBe(400);
});
