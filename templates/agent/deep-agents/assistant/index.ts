import { defineDeepAgent, defineTool } from '@svc/runtime';
import { z } from 'zod';

const current_time = defineTool({
  description: 'Tell the date and the time in a time zone.',
  inputSchema: z.object({ timeZone: z.string().default('UTC').describe('For example Europe/Madrid') }),
  async execute({ timeZone }) {
    return new Date().toLocaleString('en', { timeZone });
  },
});

export default defineDeepAgent({
  // The folder's name, and the `model` value of a request.
  name: 'assistant',
  instructions: 'You are a helpful assistant. Be brief, and use a tool rather than guess.',
  // Key = the name the model calls it by.
  tools: { current_time },
});
