const mask = (number) => number.slice(0, 6) + number.slice(6, -4).replace(/\d/g, '*') + number.slice(-4);
const walk = (value) => {
  if (Array.isArray(value)) return value.map(walk);
  if (value && typeof value === 'object') {
    return Object.keys(value).reduce((all, key) => ({ ...all, [key]: key === 'number' ? mask(value[key]) : walk(value[key]) }), {});
  }
  return value;
};
module.exports = async (req) => ({ body: walk(req.args.body), headers: req.args.headers });
