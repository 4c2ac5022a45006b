function flatten(object, prefix) {
  return Object.entries(object).reduce(function (flat, [key, value]) {
    const path = prefix ? prefix + '.' + key : key;
    if (value !== null && typeof value === 'object' && !(value instanceof Date)) Object.assign(flat, flatten(value, path));
    else flat[path] = value;
    return flat;
  }, {});
}
module.exports = (req) => ({ body: flatten(req.args.body), headers: {} });
