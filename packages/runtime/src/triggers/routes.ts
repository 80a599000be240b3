import type { H3, H3Event } from 'h3';
import { z } from 'zod';
import { currentRequest } from '../engine/context.ts';
import { mountRoute } from '../http/app.ts';
import type { RouteEntry } from '../http/app.ts';
import { INBOUND_PREFIX } from './triggers.ts';
import type { Triggers } from './triggers.ts';

export const INBOUND_ROUTES: RouteEntry[] = [
  {
    method: 'POST',
    path: `${INBOUND_PREFIX}:id`,
    summary: 'Take in what an outside service sends to a trigger; the signature is the credential',
    doc: {
      id: 'triggers.inbound',
      tag: 'triggers',
      security: 'sender',
      errors: [
        'invalid_signature',
        'rate_limited',
        'payload_too_large',
        'overloaded',
        'invalid_json',
        'trigger_queue_full',
      ],
      body: 'any',
      answers: {
        200: {
          description: 'It is stored; or what the service asks for before it sends anything',
          content: {
            'application/json': z.object({
              deliveryId: z.string().optional(),
              state: z
                .enum(['pending', 'filtered', 'repeated'])
                .optional()
                .describe('repeated: it has come before, as this delivery'),
              challenge: z.string().optional().describe('What the service has asked to hear'),
            }),
          },
        },
      },
    },
  },
];

export function mountInbound(app: H3, triggers: Triggers): void {
  for (const route of INBOUND_ROUTES)
    mountRoute(app, route, async (event: H3Event) => {
      const id = event.context.params?.id ?? '';
      const received = await triggers.receive(id, event.req, currentRequest()?.address?.() ?? '');
      return Response.json('greeting' in received ? received.greeting : received);
    });
}
