let calls = 0;
const cache = {};
module.exports = async ({ args }) => {
  calls += 1;
  cache[args.body.name] = (cache[args.body.name] || 0) + 1;
  return { body: { calls, cache, frozen: Object.isFrozen(globalThis), leaked: typeof globalThis.leak, set: (globalThis.leak = 1) }, headers: {} };
};
