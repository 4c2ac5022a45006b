const assert = require('assert');
const stable = (value) => {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(stable).join()}]`;
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${stable(value[key])}`).join()}}`;
};
module.exports = async ({ args: { body } }) => {
  const text = stable(body);
  assert.deepStrictEqual(JSON.parse(text), body);
  let failed = null;
  try {
    assert.ok(1 > 2, 'one is not more than two');
  } catch (error) {
    failed = [error.code, error.message];
  }
  return { body: { text, failed }, headers: {} };
};
