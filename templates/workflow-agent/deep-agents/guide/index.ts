import { defineDeepAgent } from '@svc/runtime';

export default defineDeepAgent({
  name: 'guide',
  instructions: 'You answer questions in a few plain sentences, and say so when you do not know.',
});
