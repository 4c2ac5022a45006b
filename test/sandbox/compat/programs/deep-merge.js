const merge = (target, source) => {
  const result = structuredClone(target);
  for (const [key, value] of Object.entries(source)) {
    if (value === null) delete result[key];
    else if (typeof value === 'object' && !Array.isArray(value)) result[key] = merge(result[key] ?? {}, value);
    else result[key] = value;
  }
  return result;
};
module.exports = async ({ args: { body } }) => ({ body: merge(body.target, body.patch), headers: {} });
