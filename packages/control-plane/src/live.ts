import { z } from 'zod';
import { route } from './http/route.ts';

/** For whoever watches the process: it answers, whatever else is wrong. */
export const LIVE = route({
  id: 'health.live',
  method: 'GET',
  path: '/live',
  summary: 'Say that the process answers',
  tag: 'health',
  access: 'anyone',
  answer: z.object({ status: z.literal('ok') }),
  handle: async () => ({ status: 'ok' }),
});
