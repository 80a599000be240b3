import { expect, it } from 'vitest';
import { readFrames } from '../src/client/frames.ts';
import type { Frame } from '../src/client/frames.ts';

/** The frames of a text that comes in pieces of this size. */
async function read(text: string, size: number): Promise<Frame[]> {
  const bytes = new TextEncoder().encode(text);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
  const frames: Frame[] = [];
  for await (const frame of readFrames(body)) frames.push(frame);
  return frames;
}

const TEXT =
  ': hello\nretry: 5\n\nid: 1\nevent: log\ndata: a é\ndata: b\n\ndata\n\n:\n\nid: 2\n\nevent: log\ndata: cut off';

it.each([1, 2, 3, 7, 1_000])(
  'frames are what they are in pieces of %i bytes, whatever ends their lines',
  async (size) => {
    const frames = [
      { event: 'message', retry: 5 },
      { id: '1', event: 'log', data: 'a é\nb' },
      { event: 'message', data: '' },
      { event: 'message', id: '2' },
    ];
    for (const end of ['\n', '\r\n', '\r']) expect(await read(TEXT.replaceAll('\n', end), size)).toEqual(frames);
  },
);

it('a frame without data says where the stream stands', async () => {
  expect(await read('id: 7\n\n', 100)).toEqual([{ event: 'message', id: '7' }]);
  expect(await read('id: 7\n', 100)).toEqual([]);
});
