import { describeGrowth } from './_growth-suite.ts';
import { describeWhen, realServers } from './require.ts';

/** Those that hold the event loop longest at their limits, one of each route at least; all of them are in `growth-full`. */
describeGrowth('requests as large as are accepted', {
  names: [
    'wire-a: many messages',
    'wire-a: many calls in one message',
    'wire-a: an object of many members',
    'wire-a: a text of "\\""',
    'wire-a: many messages on a session',
    'wire-b: many messages',
    'wire-b: many tools',
    'count_tokens: many messages',
    'AG-UI: many messages',
    'UI messages: many messages',
    'start: lists of many levels',
    'start: an object of many members',
    'failure: a text of "at "',
    'resume: a list of objects',
    'webhook: a text of "a://"',
    'chat: many messages',
    'chat: a list of objects',
    'list: runs by a name',
    'list: logs by a text',
  ],
  bytes: 4 * 1_048_576,
  steps: 1,
  mostMs: 1_000,
});

describeWhen(realServers.database, 'with the journal on PostgreSQL', (server) =>
  describeGrowth('requests as large as are accepted', {
    names: [
      'wire-a: many messages on a session',
      'wire-a: a text of "a"',
      'start: an object of many members',
      'failure: a text of "at "',
      'chat: many messages',
      'list: logs by a text',
    ],
    bytes: 4 * 1_048_576,
    steps: 1,
    mostMs: 1_000,
    server,
  }),
);
