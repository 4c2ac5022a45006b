const querystring = require('querystring');
module.exports = async ({ args: { body, headers } }) => {
  const text = querystring.stringify({ ...body, list: ['a b', 'ü&='], none: undefined, empty: null });
  return { body: { text, back: { ...querystring.parse(text) } }, headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' } };
};
