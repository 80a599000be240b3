// @ts-check
/** Ends with 0 when the process of this container answers `/live`. */
const address = `http://127.0.0.1:${process.env.PORT || 8080}/live`;

try {
  const { status } = await fetch(address, { signal: AbortSignal.timeout(4000) });
  if (status !== 200) throw new Error(`it answers ${status}`);
} catch (error) {
  const { message, cause } = /** @type {Error} */ (error);
  console.error(`${address} is not live: ${cause instanceof Error ? cause.message : message}`);
  process.exitCode = 1;
}
