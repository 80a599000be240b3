import { describeGrowth, SHAPE_NAMES } from './_growth-suite.ts';
import { describeWhen, realServers } from './require.ts';

describeGrowth('every request, as large as is accepted', {
  names: SHAPE_NAMES,
  bytes: 32 * 1_048_576,
  steps: 2,
  mostMs: 4_000,
});

describeWhen(realServers.database, 'with the journal on PostgreSQL', (server) =>
  describeGrowth('every request of a chat wire and of workflows, as large as is accepted', {
    names: SHAPE_NAMES.filter((name) => /^(?:wire-a|start|failure|chat|list): /.test(name)),
    bytes: 32 * 1_048_576,
    steps: 1,
    mostMs: 4_000,
    server,
  }),
);
