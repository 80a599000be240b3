import { needCurrentSession } from '../../account/need-current.ts';
import { array, boolean, nullable, object, oneOf, string } from '../../payload/payload.ts';
import type { TypeOf } from '../../payload/payload.ts';
import { formatWhen } from '../../terminal/format.ts';
import { formatTable } from '../../terminal/table.ts';
import { defineVerb } from '../../verb.ts';

const SESSION = object({
  id: string('The id.'),
  kind: oneOf(['browser', 'cli'], 'What is signed in.'),
  name: nullable(string('The name of the browser, or of the machine.')),
  address: nullable(string('Where it was signed in from.')),
  createdAt: string('When it was signed in.'),
  seenAt: string('When it was used last; of a command line, when it was renewed.'),
  expiresAt: string('When it expires.'),
  isCurrent: boolean('Whether it is the one that makes this request.'),
});
type Session = TypeOf<typeof SESSION>;

export const listSessions = defineVerb({
  examples: ['svc account sessions', 'svc account sessions --json'],
  args: {},
  payload: object({
    endpoint: string('The address of the control plane.'),
    items: array(SESSION, 'The one used last first.'),
  }),
  async run(_, context) {
    const { endpoint, request } = needCurrentSession(context);
    const { items } = await request<{ items: Session[] }>({ method: 'GET', path: '/api/v1/sessions' });
    const now = Date.now();
    return {
      data: { endpoint, items },
      human: (style) =>
        formatTable<Session>(
          [
            { title: 'here', cell: ({ isCurrent }) => style.mark(isCurrent) },
            { title: 'kind', cell: ({ kind }) => kind },
            { title: 'name', cell: ({ name }) => name ?? '', shrinks: true, paint: (text) => style.bold(text) },
            { title: 'used', cell: ({ seenAt }) => formatWhen(seenAt, now) },
            { title: 'id', cell: ({ id }) => id },
            { title: 'from', cell: ({ address }) => address ?? '', shrinks: true },
          ],
          items,
          style,
        ),
    };
  },
});
