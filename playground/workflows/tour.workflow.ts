import { getWritable, sleep } from '@svc/runtime';

/** A conversation: `POST /api/workflows/tour/chat` streams what the steps write, and goes on after a cut. */
export const mode = 'chat';

const STOPS = ['the agents in deep-agents/', 'the workflows in workflows/', 'this README'];

export async function tour(input: { name?: string }) {
  'use workflow';
  await say(`Welcome, ${input.name ?? 'friend'}.`);
  for (const stop of STOPS) {
    await sleep('200ms');
    await say(`Here you see ${stop}.`);
  }
  return { stops: STOPS.length };
}

async function say(text: string) {
  'use step';
  const writer = getWritable<{ text: string }>().getWriter();
  await writer.write({ text });
  writer.releaseLock();
}
