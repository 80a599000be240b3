// @ts-check
/**
 * The far end of what `ssh -R` is to a control plane of another machine: whoever connects to PLANE_PORT here is passed on to a connection
 * that came to TUNNEL_PORT before, behind which the near end dials that control plane.
 */
import { createServer } from 'node:net';

/** @type {import('node:net').Socket[]} */
const idle = [];
/** @type {import('node:net').Socket[]} */
const waiting = [];

/** @param {import('node:net').Socket} one @param {import('node:net').Socket} other */
function join(one, other) {
  one.on('close', () => other.destroy());
  other.on('close', () => one.destroy());
  one.pipe(other).pipe(one);
}

createServer((socket) => {
  socket.on('error', () => socket.destroy());
  const far = idle.shift();
  if (far) join(socket, far);
  else waiting.push(socket);
}).listen(Number(process.env.PLANE_PORT));

createServer((socket) => {
  socket.on('error', () => socket.destroy());
  socket.on('close', () => idle.includes(socket) && idle.splice(idle.indexOf(socket), 1));
  const asked = waiting.shift();
  if (asked) join(asked, socket);
  else idle.push(socket);
}).listen(Number(process.env.TUNNEL_PORT));

process.on('SIGTERM', () => process.exit());
