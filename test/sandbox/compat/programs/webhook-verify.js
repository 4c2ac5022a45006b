const crypto = require('crypto');
module.exports = async ({ args: { body, headers }, configuration }) => {
  const sent = Object.fromEntries(headers['x-signature'].split(',').map((pair) => pair.split('=')));
  const expected = crypto.createHmac('sha256', configuration.SECRET).update(`${sent.t}.${JSON.stringify(body)}`, 'utf8').digest('hex');
  const given = Buffer.from(sent.v1, 'hex');
  const same = given.length === expected.length / 2 && crypto.timingSafeEqual(given, Buffer.from(expected, 'hex'));
  if (!same) throw Object.assign(new Error('The signature is wrong.'), { code: 'E_SIGNATURE' });
  return { body: { ...body, verified: same }, headers: { 'x-checked': new Date(sent.t * 1000).toUTCString() } };
};
