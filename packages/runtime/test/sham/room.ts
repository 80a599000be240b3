import { z } from 'zod';
import { operationsOf } from '../../src/operations/define.ts';
import { defineRoom } from '../../src/operations/room.ts';

interface Sham {
  greet(name: string): string;
  close(): Promise<void>;
}

const greet = operationsOf<{ sham: Sham }>()({
  id: 'sham.greet',
  summary: 'Greet by name, with how many keys there are',
  route: 'GET /api/sham/:name',
  tag: 'sham',
  kind: 'read',
  permission: 'runs:read',
  copilot: 'yes',
  input: z.strictObject({ name: z.string() }),
  output: z.object({ text: z.string() }),
  handle: ({ sham }, { name }) => ({ text: sham.greet(name) }),
});

/** The boxes in which it was closed. */
export const closed: string[] = [];

export const shamRoom = defineRoom({
  name: 'sham',
  operations: [greet],
  // What the host gives, and another room.
  create: ({ options, keys }: { options: { slug: string }; keys: { close(): Promise<void> } }): Sham => ({
    greet: (name) => `${options.slug} greets ${name}${keys ? '.' : ' without keys.'}`,
    close: async () => void closed.push(options.slug),
  }),
  close: (sham) => sham.close(),
});
