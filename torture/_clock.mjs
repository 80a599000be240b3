// @ts-check
/**
 * Loaded before anything else of a box: the machine's clock, of which the store on a file has its time, jumps by up to half
 * a minute forward and back, about once a second.
 */
const now = Date.now.bind(Date);
let offset = 0;
Date.now = () => now() + offset;
setInterval(() => (offset = Math.round((Math.random() - 0.5) * 60_000)), 1_000).unref();
