import { defineConfig } from '@svc/runtime';

export default defineConfig({
  // The model of every agent that names none. The scripted model answers to any name; a provider of yours to its own.
  model: 'playground/scripted',
});
