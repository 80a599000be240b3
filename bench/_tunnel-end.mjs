// @ts-check
/** A box's end of a tunnel, in a process of its own. */
import { keepAttached } from '../packages/cli/dist/index.mjs';
import { readConfig, serve } from './_child.mjs';

const options = /** @type {{ relayUrl: string, token: string, publicUrl: string, port: number }} */ (readConfig());

serve({
  open: async () => {
    await keepAttached({ ...options, say: (line) => console.error(line) });
    return options.publicUrl;
  },
});
