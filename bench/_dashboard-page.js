// What `bench/dashboard.mjs` calls in the page.

export { goTo, scroll, untilShown };

/**
 * Milliseconds since the page was asked for, at the frame after the element is there.
 * @param {string} wanted
 * @returns {Promise<number>}
 */
function untilShown(wanted) {
  return new Promise((resolve) => {
    const look = () => {
      if (document.querySelector(wanted)) requestAnimationFrame(() => resolve(performance.now()));
      else requestAnimationFrame(look);
    };
    look();
  });
}

/**
 * Milliseconds from a click to the frame after the screen has all that it asked for.
 * @param {string} title
 * @returns {Promise<number>}
 */
function goTo(title) {
  return new Promise((resolve) => {
    const link = [...document.querySelectorAll('nav a')].find((one) => one.textContent === title);
    const before = document.querySelector('main h1')?.textContent;
    const start = performance.now();
    link.click();
    const look = () => {
      const heading = document.querySelector('main h1')?.textContent;
      const isThere = heading !== before && !document.querySelector('main [role=status][aria-label=Loading]');
      if (isThere && heading) requestAnimationFrame(() => resolve(performance.now() - start));
      else requestAnimationFrame(look);
    };
    look();
  });
}

/**
 * Milliseconds of each frame.
 * @param {number} frames
 * @returns {Promise<number[]>}
 */
function scroll(frames) {
  return new Promise((resolve) => {
    const tree = document.querySelector('[role=tree]');
    const took = [];
    let last = 0;
    const next = (time) => {
      if (last > 0) took.push(time - last);
      last = time;
      tree.scrollTop += 30 * 28;
      if (took.length < frames) requestAnimationFrame(next);
      else resolve(took);
    };
    requestAnimationFrame(next);
  });
}
