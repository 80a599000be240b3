import { describeGrowth, SHAPE_NAMES } from './_growth-suite.ts';

describeGrowth('every request, as large as is accepted', {
  names: SHAPE_NAMES,
  bytes: 32 * 1_048_576,
  doublings: 4,
  mostMs: 800,
});
