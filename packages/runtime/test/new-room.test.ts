import { expect, test, vi } from 'vitest';
import { closed } from './sham/room.ts';
import { call, setupBoxes } from './_setup.ts';

// A new room: its folder, and its line in the list of all.
vi.mock(import('../src/surface/rooms.ts'), async (original) => {
  const { ROOMS } = await original();
  const { shamRoom } = await import('./sham/room.ts');
  return { ROOMS: [...ROOMS, shamRoom] as never };
});

const boxes = setupBoxes();

test('a room that is one folder and one line is served, listed, described and closed', async () => {
  const box = await boxes.open({ options: { slug: 'here' } });

  expect(await call(box, 'GET /api/sham/you')).toMatchObject({ status: 200, body: { text: 'here greets you.' } });

  const listed = await call<{ items: { id: string }[] }>(box, 'GET /api/catalog/operations?tag=sham');
  expect(listed.body.items.map(({ id }) => id)).toEqual(['sham.greet']);

  const document = await call<{ paths: Record<string, { get?: { operationId: string } }> }>(
    box,
    'GET /api/openapi.json',
  );
  expect(document.body.paths['/api/sham/{name}']?.get?.operationId).toBe('sham.greet');

  await box.shut();
  expect(closed).toEqual(['here']);
});
