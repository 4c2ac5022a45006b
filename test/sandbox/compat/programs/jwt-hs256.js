const { createHmac, timingSafeEqual } = require('crypto');
const url = (text) => text.replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
const part = (value) => url(Buffer.from(JSON.stringify(value)).toString('base64'));
const sign = (text, secret) => url(createHmac('sha256', secret).update(text).digest('base64'));
module.exports = (req) => {
  const text = part({ alg: 'HS256' }) + '.' + part(req.args.body);
  const token = text + '.' + sign(text, 'secret');
  const [head, claims, signature] = token.split('.');
  const good = timingSafeEqual(Buffer.from(signature), Buffer.from(sign(head + '.' + claims, 'secret')));
  return { body: { token, good, claims: JSON.parse(Buffer.from(claims, 'base64').toString()) }, headers: {} };
};
