import { defineConfig } from '@svc/runtime';

export default defineConfig({
  // The model of every agent that names none. Name one that your model provider serves.
  model: 'vendor/model',
});
